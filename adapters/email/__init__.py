"""E-mail: IMAP with IDLE for what comes in, SMTP submission for what goes out; a thread is a conversation.

`settings` knows neither library. `parse` and what it uses (`addresses`, `headers`, `trust`, `automatic`, `slim`, `body`, `files`,
`places`, `transfer`, `tnef`, `hypertext` with `page`, `lines`, `rules`, `unseen`, `quoting`, `threads`) are pure, and so is
`render`; `imap` alone knows aioimaplib and `submission` alone aiosmtplib. `trial` remembers what was being read when a process
died.
"""
