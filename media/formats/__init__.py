"""The readers, one for each family of documents. Imported by the child process alone."""
