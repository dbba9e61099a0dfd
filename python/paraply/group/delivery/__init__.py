"""The group's total order: messages, its log, relay logs and transfer."""
