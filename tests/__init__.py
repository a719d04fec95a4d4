"""Tests: see CONTRIBUTING for the tiers."""
