"""What holds for all tests."""

import signal

# A job in the background of a shell inherits that Ctrl-C is ignored, and so would the processes
# that the tests of interruptions start.
signal.signal(signal.SIGINT, signal.default_int_handler)
