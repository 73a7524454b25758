package docker

import (
	"context"
	"errors"
	"net"
	"os"
	"strings"

	"github.com/docker/docker/client"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

func unavailable(format string, args ...any) *tool.Error {
	return tool.Errorf(tool.Unavailable, format, args...)
}

// errDown marks an engine that does not respond.
var errDown = errors.New("the docker engine does not respond")

// down reports whether an error means that the engine should be avoided for a while.
func down(err error) bool { return errors.Is(err, errDown) }

type downError struct{ cause error }

func (d downError) Error() string   { return d.cause.Error() }
func (d downError) Unwrap() []error { return []error{errDown, d.cause} }

// explain converts an error of an engine or its connection to one for the model.
func (e *engine) explain(err error) error {
	var known *tool.Error
	var network net.Error
	switch {
	case err == nil, errors.As(err, &known):
		return err
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, os.ErrPermission):
		return unavailable("this user may not use the docker engine at %s", e.name).
			Try("add the user to the group docker, or choose another sandbox").Because(downError{err})
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return unavailable("the docker engine at %s does not answer in time", e.name).
			Try("see whether docker info works there, or choose another sandbox").Because(downError{err})
	case client.IsErrConnectionFailed(err), isConnection(err):
		return unavailable("the docker engine at %s cannot be reached: %s", e.name, firstLine(err.Error())).
			Try("start it, or choose another sandbox").Because(downError{err})
	}
	return unavailable("the docker engine at %s says: %s", e.name, firstLine(err.Error())).
		Try("ask the operator to look at sandbox.docker").Because(err)
}

func isConnection(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || strings.HasPrefix(err.Error(), "starting ssh") ||
		strings.Contains(err.Error(), "ssh: ")
}

// explainStart returns why a container that was created does not start.
func (e *engine) explainStart(err error, a agentFile) error {
	text := err.Error()
	switch {
	case strings.Contains(text, "exec format error"):
		return unavailable("the agent is not for the processor of the docker engine at %s", e.name).
			Try("put a Linux build of mcp-tools for it beside this program, named %s", AgentFile).Because(err)
	case a.dynamic && lacksLibraries(text):
		return errLibraries(err)
	case strings.Contains(text, "chdir to cwd"):
		return unavailable("the docker engine at %s does not see the mounts of this machine", e.name).
			Try("run the server where the engine runs, or give the workspace to a user who is not root").Because(err)
	}
	return e.explain(err)
}

// errLibraries is the error of an agent whose shared libraries the image lacks, or has in another version.
func errLibraries(cause error) error {
	return unavailable("the agent needs shared libraries that the image lacks").
		Try("tell the operator to build mcp-tools with CGO_ENABLED=0, or to put such a build beside it, named %s", AgentFile).Because(cause)
}

// lacksLibraries reports whether a text says that the loader of a program, or one of its libraries, is missing.
func lacksLibraries(text string) bool {
	return strings.Contains(text, "no such file or directory") || strings.Contains(text, "shared librar") ||
		strings.Contains(text, "GLIBC_") || strings.Contains(text, "Error relocating")
}

// explainCreate returns why a container cannot be created.
func (e *engine) explainCreate(err error) error {
	if strings.Contains(err.Error(), "bind source path does not exist") {
		return unavailable("the docker engine at %s does not have the workspace at the same path", e.name).
			Try("share the file system with that machine, or use an engine on this one").Because(err)
	}
	return e.explain(err)
}

// firstLine returns the first line of a message, shortened.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "..."
	}
	return s
}
