"""Bundled procedures: folders with SKILL.md, content and no code."""
