package agent

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/sandbox/wire"
)

// markName is the variable that marks the processes of a command.
const markName = "MCP_TOOLS_CALL"

// A problem is the reason why a command could not be started.
type problem struct{ wire.RefusedBody }

func (p problem) Error() string { return p.RefusedBody.Error }

func noProgram(why string) error { return problem{wire.RefusedBody{NoProgram: true, Error: why}} }
func noDir(why string) error     { return problem{wire.RefusedBody{NoDir: true, Error: why}} }

func refusal(err error) wire.RefusedBody {
	if p, ok := errors.AsType[problem](err); ok {
		return p.RefusedBody
	}
	return wire.RefusedBody{Error: err.Error()}
}

// environ returns the environment of the command, with its mark.
func (c *command) environ() []string {
	env := make([]string, 0, len(c.spec.Env)+1)
	for _, v := range c.spec.Env {
		if !strings.HasPrefix(v, markName+"=") {
			env = append(env, v)
		}
	}
	return append(env, markName+"="+c.mark)
}

// find returns the file that a command runs, looked up in the PATH of the command. It skips
// relative entries of PATH, since any command may change the files there.
func find(argv, env []string, dir string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", noProgram("there is no program to run")
	}
	name := argv[0]
	if filepath.Base(name) != name {
		if filepath.IsAbs(name) || relativeIsKept {
			return name, nil
		}
		return filepath.Join(dir, name), nil
	}
	var denied error
	for _, part := range filepath.SplitList(variable(env, "PATH")) {
		if !filepath.IsAbs(part) {
			continue
		}
		path, err := executable(filepath.Join(part, name), env)
		if err == nil {
			return path, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			denied = err
		}
	}
	if denied != nil {
		return "", problem{wire.RefusedBody{Error: denied.Error()}}
	}
	return "", noProgram("there is no program " + name + " in its PATH")
}

func variable(env []string, name string) string {
	value := ""
	for _, v := range env {
		key, rest, _ := strings.Cut(v, "=")
		if key == name || !namesDiffer && strings.EqualFold(key, name) {
			value = rest
		}
	}
	return value
}

// explain returns the reason why a command could not be started.
func explain(err error, spec wire.StartBody) error {
	if spec.Dir != "" {
		switch info, e := os.Stat(spec.Dir); {
		case e != nil:
			return noDir(e.Error())
		case !info.IsDir():
			return noDir(spec.Dir + " is no directory")
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return problem{wire.RefusedBody{Error: spec.Argv[0] + ": " + err.Error()}}
	}
	path := spec.Argv[0]
	if !filepath.IsAbs(path) {
		path = filepath.Join(spec.Dir, path)
	}
	if _, e := os.Stat(path); e == nil {
		return noProgram("the interpreter or loader that " + spec.Argv[0] + " needs is not there")
	}
	return noProgram("there is no program " + spec.Argv[0])
}
