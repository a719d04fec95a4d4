"""E-mail: IMAP with IDLE for what comes in, SMTP submission for what goes out; a thread is a conversation.

`settings` knows neither library. `parse` and what it uses (`addresses`, `headers`, `trust`, `automatic`, `slim`, `body`,
`hypertext`, `quoting`, `threads`) are pure, and so are `render` and `compose`; `imap` alone knows aioimaplib and
`submission` alone aiosmtplib.
"""
