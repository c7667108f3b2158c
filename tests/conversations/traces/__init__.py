"""Traces of the same two sessions as many tools write them; the scripts in `written_by` use the tools' libraries."""

SESSIONS = {
    "s-1": [
        ("Is the shop open?", "Until six."),
        ("On Sunday too?", "No, not on Sunday."),
        ("Thank you.", "You are welcome."),
    ],
    "s-2": [
        ("My kite is torn.", "Which kite is it?"),
        ("The red one.", "We send a new sail."),
        ("How long does it take?", "Two days."),
    ],
}
