"""The promises of Hermes: plain types and protocols that every part shares and that plug-in authors import.

Nothing here imports `gateway`, `agent_core`, `adapters` or `tools`, and nothing here does the work: a file in
this
package is a promise, the folder of the same name elsewhere keeps it.
"""
