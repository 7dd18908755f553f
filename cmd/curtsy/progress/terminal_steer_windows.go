package progress

import (
	"os"

	"golang.org/x/sys/windows"
)

// steerable has a console obey control sequences, which Windows leaves off unless it is asked, and reports whether it does.
func steerable(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
