package app

import (
	"context"
	"net"
)

// notifySystemd sends a state, such as READY=1, to the service manager that started the
// program, if one waits for it: sd_notify(3).
func (a *App) notifySystemd(state string) {
	socket := a.env.Getenv("NOTIFY_SOCKET")
	if socket == "" {
		return
	}
	conn, err := net.Dial("unixgram", socket)
	if err == nil {
		_, err = conn.Write([]byte(state))
		conn.Close()
	}
	if err != nil {
		a.log.Warn("the service manager was not notified", "state", state, "err", err)
	}
}

// ready notifies the service manager that the program serves, and when ctx ends that it
// stops.
func (a *App) ready(ctx context.Context) (stop func() bool) {
	a.notifySystemd("READY=1")
	return context.AfterFunc(ctx, func() { a.notifySystemd("STOPPING=1") })
}
