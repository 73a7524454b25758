package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

const MaxTyped = 8190 // of a line in a console

// HideTyping stops a console from showing typed characters until show is called.
func HideTyping(console *os.File) (show func() error, err error) {
	handle := windows.Handle(console.Fd())
	var before uint32
	if err := windows.GetConsoleMode(handle, &before); err != nil {
		return nil, err
	}
	quiet := before&^windows.ENABLE_ECHO_INPUT | windows.ENABLE_LINE_INPUT | windows.ENABLE_PROCESSED_INPUT
	if err := windows.SetConsoleMode(handle, quiet); err != nil {
		return nil, err
	}
	return func() error { return windows.SetConsoleMode(handle, before) }, nil
}
