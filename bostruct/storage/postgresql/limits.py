"""How long a writer of a PostgreSQL database waits, and how long others wait for it; all in seconds."""

RENEW_SECONDS = 10.0  # between two heartbeats of a writer
GONE_SECONDS = 60.0  # without a heartbeat, after which the trials of a writer are handed out again
OPEN_SECONDS = 10.0  # of opening a study while nothing answers, as its server may be restarting
LATE_SECONDS = 1.0  # of opening, after which the log says that it waits
RECONNECT_SECONDS = 120.0  # within which a lost connection is made again, or the step fails
CONNECT_SECONDS = 5  # for one try to connect
PAUSE_SECONDS = 1.0  # between two tries, at most
SILENCE_SECONDS = 20  # after which a connection that answers nothing is taken for lost, at both of its ends
LOCK_SECONDS = 30  # for a lock that another step holds
TURN_SECONDS = 5  # of waiting for the right to decide, between two heartbeats
STATEMENT_SECONDS = 300  # for one statement, reading 100,000 trials included
IDLE_SECONDS = 20  # within a step of a process that was stopped, after which the server gives its locks back
BUSY_SECONDS = 2.0  # of closing, for a thread that still waits for the server
KEPT_DAYS = 7  # for which the database remembers a writer that is gone
