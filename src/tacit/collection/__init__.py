"""From events to reports or exact counts: report files, messages, tallying, poisoning alarms."""
