"""Django's PostgreSQL backend, asking whether a connection still lives only when it has been idle."""
