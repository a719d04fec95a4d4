"""Every sentence that the system itself says, by key and language.

`say("de", "model_down")`. A language or a key that is missing in it falls back to English; an unknown key is
a programming error.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["LANGUAGES", "SENTENCES", "say"]

SENTENCES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "pairing": "Hello. I do not know you yet. Give this code to my owner: {code} (valid for one hour).",
        "unsupported": "I cannot read this kind of message yet ({what}). Please write it as text.",
        "too_long": "This message is too long for me ({chars} characters, at most {limit}).",
        "backlog": "Too many messages at once. I will take new ones again in a moment.",
        "model_down": "The model cannot be reached at the moment. Send /retry to try again.",
        "model_timeout": "The model did not answer in time. Send /retry to try again.",
        "model_auth": "The model's provider refused the key. Whoever runs me can set it with: hermes model.",
        "model_rate_limit": "The model's provider is limiting us. Please try again in a while with /retry.",
        "model_overload": "The model's provider is overloaded. Please try again in a while with /retry.",
        "model_bad_request": "The model's provider refused the request. /new starts afresh, /retry tries again.",
        "model_malformed": "The model's answer could not be read. Send /retry to try again.",
        "model_config": "No model is set up, or not rightly. Whoever runs me sees more with `hermes model` and in the log.",
        "overflow": "This conversation no longer fits into the model's window. /new starts afresh.",
        "history_unreadable": "The history of this conversation cannot be read, so I did not answer. "
        "Whoever runs me should run: hermes doctor. /retry tries again.",
        "store_unavailable": "I could not save this turn. Please try again with /retry.",
        "internal": "Something went wrong in here and was written to the log. Send /retry to try again.",
        "empty_answer": "The model gave no answer. Send /retry to try again.",
        "budget": "I stopped after {calls} model calls.",
        "history_cut": "(This conversation is longer than the model's window; I no longer see its oldest part.)",
        "dead": "This message made me fail {starts} times, so I put it aside. Please try again in other words.",
        "expired": "I was away too long to take up this message again. Send /retry if it still matters.",
        "stopped": "Stopped.",
        "edited": "(I have changed my message. It now says:)\n{text}",
        "superseded": "(Answered above.)",
        "cancelled": "Cancelled.",
        "substitute": "(Answered by {model}, since {instead} does not answer.)",
        "nothing_running": "Nothing is running.",
        "fresh": "A fresh conversation begins.",
        "hello": "Hello. Write to me, or send /help to see what I can do.",
        "help": "What you can send me:",
        "unknown_command": "I do not know {command}. /help lists what I know.",
        "status": "Session {session}: {messages} messages, {tokens} tokens in this conversation. "
        "Model: {model}. Waiting: {waiting}.",
        "usage": "This conversation: {turns} turns, {calls} model calls, {prompt} tokens in, {completion} tokens out{cost}.\n"
        "You today, in all of yours: {today} tokens{today_cost}.",
        "model": "The model is {model}.",
        "model_chosen": "From now on {model} answers in this conversation. /model default takes that back.",
        "model_default": "The usual model answers again.",
        "model_refused": "The model can be chosen by people I know, with its one name: /model NAME.",
        "model_embedded": "{model} answers here, and has no others beside it. "
        "Whoever runs me can set up a provider with: hermes model.",
        "nothing_to_retry": "There is nothing to try again.",
        "nothing_to_undo": "There is nothing to take back.",
        "undone": 'Taken back: "{text}"',
        "titled": "This conversation is now called {title}.",
        "title_is": "This conversation is called {title}.",
        "title_usage": "Send /title followed by the new title.",
        "whoami": "You are {name} (id {sender}) on {platform}. Role: {role}.",
        "whoami_admitted": "Admitted: {admission}.",
        "whoami_person": "Person: {person}. Joined accounts: {accounts}.",
        "whoami_session": "Agent: {agent}. Conversation: {session}.",
        "command_refused": "{command} is not open to you. Whoever runs me can change that.",
        "link_code": "Your code: {code}\nSend /link followed by it to me from your other account, in a direct chat, "
        "within {minutes} minutes. It works once. Give it to nobody else.",
        "link_in_private": "Please write me directly: this works in a direct chat only.",
        "link_guest": "A code is given to people I know. Send /link from the account that my owner admitted.",
        "link_often": "You have asked for many codes. Please try again in an hour.",
        "link_wrong": "I do not know this code. It works once and for ten minutes; /link on your other account gives a new one.",
        "link_other_way": "Please do it the other way round: send /link from this account, and the code from the other one.",
        "link_taken": "This account is joined to others already. /unlink takes it out; then send the code once more.",
        "link_off": "Accounts cannot be joined here.",
        "link_used": "{name} ({account}) is now joined to you. If that is not you, send /unlink and tell my owner.",
        "linked": "This account is now joined to {accounts}. /unlink takes it out again.",
        "linked_there": "We go on with the conversation of the account that gave the code. The one here is kept: "
        "the search over past conversations finds it, and /unlink brings it back.",
        "linked_here": "We go on with the conversation here.",
        "unlinked": "This account stands alone again.",
        "unlinked_shared": "This account stands alone again, with its own conversation. The shared one stays with the others.",
        "not_linked": "This account is joined to no other.",
        "no_sessions": "There are no earlier conversations here.",
        "sessions": "Conversations here (newest first):",
        "resumed": "We go on with: {title}.",
        "resume_usage": "Send /resume followed by a number from /sessions.",
        "home_set": "This chat is now my home on {platform}: what is sent to {platform} without a chat comes here.",
        "home_not_here": "This works in a chat of a platform only.",
        "file_left_out": "(Not sent here, since this platform takes no such file: {names})",
        "long_reply": "(The whole answer is in the file.)",
        "mode_steer": "While I work, your messages join what I am doing. /queue lets them wait again.",
        "mode_queue": "While I work, your messages wait for their turn.",
        "still_working": "(still working, {minutes} min)",
        "done": "(Done.)",
        "shutting_down": "I am being restarted; your message is kept and answered afterwards.",
        # What stands in a message in the place of a file, for the model.
        "file_large": "The file {name} was not taken: it is larger than {limit}.",
        "file_empty": "The file {name} is empty.",
        "file_room": "The file {name} was not taken: there is no room on the disk.",
        "file_gone": "The file {name} could not be had from the platform ({why}).",
        "file_unreachable": "The file {name} could not be fetched: the platform did not give it out.",
        "file_unfetchable": "The file {name} could not be fetched: this platform's files cannot be had here.",
        "file_failed": "The file {name} could not be fetched: something went wrong in here.",
        "file_stopped": "The file {name} was not fetched: I was stopped.",
        "file_too_many": "{count} more files were left out: of one message {limit} are taken.",
        "file_video": "The video {name} cannot be looked at.",
        "file_documents_off": "The file {name} was not read: reading documents is switched off.",
        "file_cut": "Of the file {name} only the first part is shown{place}: it is too long.",
        "file_no_room_left": "The file {name} is not shown: the files before it take all the room.",
        "file_unread_protected": "The file {name} was not read: it is protected by a password.",
        "file_unread_damaged": "The file {name} was not read: it is damaged.",
        "file_unread_empty": "The file {name} was not read: it holds no text (it may be a scan).",
        "file_unread_unsupported": "The file {name} was not read: its type is not known here ({mime}).",
        "file_unread_too_long": "The file {name} was not read: it is too long.",
        "file_unread_timeout": "The file {name} was not read: it took too long.",
        "file_unread_memory": "The file {name} was not read: it needs too much memory.",
        "file_unread_not_installed": "The file {name} was not read: that needs the extra `documents` of hermes-gateway, "
        "which is not installed.",
        "file_unread_failed": "The file {name} was not read: something went wrong in here.",
        "file_voice_off": "A voice message was sent, and nothing is set up that writes down what is said in it.",
        "file_voice_unread": "A voice message was sent that could not be written down: it cannot be read.",
        "file_voice_unreachable": "A voice message was sent that could not be written down: who does that cannot be reached.",
        "file_voice_silent": "A voice message was sent in which nothing is said.",
        "file_audio_off": "The recording {name} was not listened to: nothing is set up for that.",
        "file_audio_unread": "The recording {name} was not listened to: it cannot be read.",
        "file_audio_unreachable": "The recording {name} was not listened to: who does that cannot be reached.",
        "file_audio_silent": "In the recording {name} nothing is said.",
    },
    "de": {
        "pairing": "Hallo. Ich kenne Sie noch nicht. Geben Sie meinem Besitzer diesen Code: {code} (eine Stunde gültig).",
        "unsupported": "Diese Art von Nachricht kann ich noch nicht lesen ({what}). Bitte schreiben Sie sie als Text.",
        "too_long": "Diese Nachricht ist zu lang für mich ({chars} Zeichen, höchstens {limit}).",
        "backlog": "Zu viele Nachrichten auf einmal. Gleich nehme ich wieder neue an.",
        "model_down": "Das Modell ist gerade nicht erreichbar. /retry versucht es noch einmal.",
        "model_timeout": "Das Modell hat nicht rechtzeitig geantwortet. /retry versucht es noch einmal.",
        "model_auth": "Der Anbieter des Modells hat den Schlüssel abgelehnt. Mein Betreiber kann ihn setzen mit: hermes model.",
        "model_config": "Es ist kein Modell eingerichtet, oder nicht richtig. Mein Betreiber sieht mehr mit: hermes model.",
        "stopped": "Angehalten.",
        "edited": "(Ich habe meine Nachricht geändert. Sie lautet jetzt:)\n{text}",
        "superseded": "(Oben beantwortet.)",
        "substitute": "(Geantwortet hat {model}, da {instead} nicht antwortet.)",
        "nothing_running": "Es läuft gerade nichts.",
        "fresh": "Ein neues Gespräch beginnt.",
        "hello": "Hallo. Schreiben Sie mir, oder senden Sie /help, um zu sehen, was ich kann.",
        "help": "Was Sie mir senden können:",
        "unknown_command": "{command} kenne ich nicht. /help zeigt, was ich kenne.",
        "nothing_to_retry": "Es gibt nichts zu wiederholen.",
        "whoami": "Sie sind {name} (Kennung {sender}) auf {platform}. Rolle: {role}.",
        "whoami_admitted": "Eingelassen: {admission}.",
        "whoami_person": "Person: {person}. Verbundene Konten: {accounts}.",
        "whoami_session": "Agent: {agent}. Gespräch: {session}.",
        "command_refused": "{command} steht Ihnen nicht offen. Mein Betreiber kann das ändern.",
        "link_code": "Ihr Code: {code}\nSenden Sie mir /link und den Code innerhalb von {minutes} Minuten von Ihrem anderen "
        "Konto, in einem direkten Chat. Er gilt einmal. Geben Sie ihn niemandem sonst.",
        "link_in_private": "Bitte schreiben Sie mir direkt: das geht nur in einem direkten Chat.",
        "link_guest": "Einen Code bekommt, wen ich kenne. Senden Sie /link von dem Konto, das mein Besitzer eingelassen hat.",
        "link_often": "Sie haben viele Codes verlangt. Bitte versuchen Sie es in einer Stunde wieder.",
        "link_wrong": "Diesen Code kenne ich nicht. Er gilt einmal und zehn Minuten lang; /link auf Ihrem anderen Konto gibt "
        "einen neuen.",
        "link_other_way": "Bitte umgekehrt: senden Sie /link von diesem Konto, und den Code von dem anderen.",
        "link_taken": "Dieses Konto ist schon mit anderen verbunden. /unlink löst es; dann senden Sie den Code noch einmal.",
        "link_off": "Konten können hier nicht verbunden werden.",
        "link_used": "{name} ({account}) ist jetzt mit Ihnen verbunden. Sind Sie das nicht, senden Sie /unlink und sagen Sie "
        "es meinem Besitzer.",
        "linked": "Dieses Konto ist jetzt verbunden mit {accounts}. /unlink löst es wieder.",
        "linked_there": "Es geht weiter mit dem Gespräch des Kontos, das den Code gab. Das Gespräch hier bleibt: die Suche über "
        "frühere Gespräche findet es, und /unlink bringt es zurück.",
        "linked_here": "Es geht weiter mit dem Gespräch hier.",
        "unlinked": "Dieses Konto steht wieder für sich.",
        "unlinked_shared": "Dieses Konto steht wieder für sich, mit einem eigenen Gespräch. Das gemeinsame bleibt den anderen.",
        "not_linked": "Dieses Konto ist mit keinem anderen verbunden.",
        "home_set": "Dieser Chat ist jetzt mein Zuhause auf {platform}: was ohne Chat an {platform} geht, kommt hierher.",
        "home_not_here": "Das geht nur in einem Chat einer Plattform.",
        "file_left_out": "(Hier nicht gesendet, da diese Plattform solche Dateien nicht annimmt: {names})",
        "long_reply": "(Die ganze Antwort steht in der Datei.)",
        "file_large": "Die Datei {name} wurde nicht angenommen: sie ist größer als {limit}.",
        "file_empty": "Die Datei {name} ist leer.",
        "file_room": "Die Datei {name} wurde nicht angenommen: auf dem Datenträger ist kein Platz.",
        "file_gone": "Die Datei {name} war von der Plattform nicht zu bekommen ({why}).",
        "file_unreachable": "Die Datei {name} war nicht zu holen: die Plattform hat sie nicht herausgegeben.",
        "file_unfetchable": "Die Datei {name} war nicht zu holen: Dateien dieser Plattform sind hier nicht zu bekommen.",
        "file_failed": "Die Datei {name} war nicht zu holen: hier ist etwas schiefgegangen.",
        "file_stopped": "Die Datei {name} wurde nicht geholt: ich wurde angehalten.",
        "file_too_many": "{count} weitere Dateien blieben weg: von einer Nachricht werden {limit} angenommen.",
        "file_video": "Das Video {name} kann nicht angesehen werden.",
        "file_documents_off": "Die Datei {name} wurde nicht gelesen: das Lesen von Dokumenten ist ausgeschaltet.",
        "file_cut": "Von der Datei {name} ist nur der erste Teil zu sehen{place}: sie ist zu lang.",
        "file_no_room_left": "Die Datei {name} ist nicht zu sehen: die Dateien vor ihr nehmen allen Platz.",
        "file_unread_protected": "Die Datei {name} wurde nicht gelesen: sie ist mit einem Passwort geschützt.",
        "file_unread_damaged": "Die Datei {name} wurde nicht gelesen: sie ist beschädigt.",
        "file_unread_empty": "Die Datei {name} wurde nicht gelesen: sie enthält keinen Text (vielleicht ist sie ein Scan).",
        "file_unread_unsupported": "Die Datei {name} wurde nicht gelesen: ihre Art ist hier nicht bekannt ({mime}).",
        "file_unread_too_long": "Die Datei {name} wurde nicht gelesen: sie ist zu lang.",
        "file_unread_timeout": "Die Datei {name} wurde nicht gelesen: es hat zu lange gedauert.",
        "file_unread_memory": "Die Datei {name} wurde nicht gelesen: sie braucht zu viel Speicher.",
        "file_unread_not_installed": "Die Datei {name} wurde nicht gelesen: dafür ist das Extra `documents` von hermes-gateway "
        "nötig, das nicht installiert ist.",
        "file_unread_failed": "Die Datei {name} wurde nicht gelesen: hier ist etwas schiefgegangen.",
        "file_voice_off": "Es kam eine Sprachnachricht, und nichts ist eingerichtet, das aufschreibt, was darin gesagt wird.",
        "file_voice_unread": "Es kam eine Sprachnachricht, die nicht aufgeschrieben wurde: sie ist nicht lesbar.",
        "file_voice_unreachable": "Es kam eine Sprachnachricht, die nicht aufgeschrieben wurde: wer das tut, war nicht "
        "erreichbar.",
        "file_voice_silent": "Es kam eine Sprachnachricht, in der nichts gesagt wird.",
        "file_audio_off": "Die Aufnahme {name} wurde nicht angehört: dafür ist nichts eingerichtet.",
        "file_audio_unread": "Die Aufnahme {name} wurde nicht angehört: sie ist nicht lesbar.",
        "file_audio_unreachable": "Die Aufnahme {name} wurde nicht angehört: wer das tut, ist nicht erreichbar.",
        "file_audio_silent": "In der Aufnahme {name} wird nichts gesagt.",
    },
}
LANGUAGES = tuple(SENTENCES)


def say(language: str, key: str, /, **fields: object) -> str:
    """The sentence `key` in `language`, filled in. Raises `KeyError` for a key that English does not have."""
    table = SENTENCES.get(
        language.split("-", maxsplit=1)[0].split("_", maxsplit=1)[0].lower(), SENTENCES["en"]
    )
    template = table.get(key) or SENTENCES["en"][key]
    return template.format_map(_Blank(fields))


class _Blank(dict[str, object]):
    def __missing__(self, key: str) -> str:
        return "?"
