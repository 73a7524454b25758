package cli

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// credentialed runs one of the programs, for the model.
type credentialed struct {
	router *Router
}

type credentialedArgs struct {
	Command string   `json:"command,omitempty" jsonschema:"one program with its arguments, quoted as for a shell" alias:"cmd,command_line" maxlen:"65536"`
	Argv    []string `json:"argv,omitempty" jsonschema:"the same as a list, instead of command"`
	Dir     string   `json:"cwd,omitempty" jsonschema:"directory to run in" alias:"working_dir,workdir,working_directory,dir,directory"`
	Seconds float64  `json:"timeout_seconds,omitempty" jsonschema:"when to stop it" min:"0" max:"1800" alias:"timeout"`
	Binary  string   `json:"binary,omitempty" jsonschema:"the program, with args" hidden:"yes" alias:"program,executable"`
	Args    []string `json:"args,omitempty" jsonschema:"arguments of binary" hidden:"yes" alias:"arguments"`
}

func (credentialed) Spec() tool.Spec {
	return tool.Spec{
		Name: "credentialed_exec", Group: "runtime", Title: "Run with credentials", Risk: tool.Runs,
		Hints:   tool.Hints{OpenWorld: true},
		Timeout: longest + time.Minute,
		Doc: `Runs a program that has the operator's credentials, such as gh, gcloud, aws, kubectl or terraform, where configured. ` +
			`No shell: no pipes, variables or redirections; filter with the program's own options. Other commands: exec.`,
		Also:     []string{"credentialed_cli", "secure_cli", "secure_exec"},
		Keywords: "cli cloud github gh gcloud aws kubectl kubernetes terraform deploy",
	}
}

// order reads the arguments as those of a command, in the ways that other
// systems write them.
func (a credentialedArgs) order() (Order, error) {
	o := Order{Dir: a.Dir, Timeout: time.Duration(a.Seconds * float64(time.Second))}
	command := strings.TrimSpace(a.Command)
	switch {
	case command != "" && a.Binary != "" || len(a.Argv) > 0 && (command+a.Binary != "" || len(a.Args) > 0):
		return o, tool.Errorf(tool.Invalid, "the command is there twice").Try("send command or argv, and nothing else")
	case a.Binary != "":
		o.Argv = append([]string{a.Binary}, a.Args...)
	case len(a.Argv) > 0:
		o.Argv = a.Argv
	case command == "":
		o.Argv = a.Args
	default:
		argv, err := Parse(command)
		if err != nil {
			return o, err
		}
		o.Argv = append(argv, a.Args...)
	}
	return o, checkArgv(o.Argv)
}

func (t credentialed) Prepare(ctx context.Context, a credentialedArgs) (tool.Plan, error) {
	o, err := t.order(a)
	if err != nil {
		return tool.Plan{}, err
	}
	return t.router.Prepare(ctx, o)
}

// order says first that there is nothing to run, whatever is wrong with it.
func (t credentialed) order(a credentialedArgs) (Order, error) {
	if len(t.router.programs) == 0 {
		_, err := t.router.named(Order{})
		return Order{}, err
	}
	return a.order()
}
