"""Conversations over HTTP: traces of OpenTelemetry and webhooks of chat services become files of the inbox."""
