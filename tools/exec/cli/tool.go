package cli

import (
	"context"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// credentialed is the tool credentialed_exec.
type credentialed struct {
	router *Router
}

type credentialedArgs struct {
	Command string   `json:"command,omitempty" jsonschema:"program with arguments, quoted as for a shell" alias:"cmd,command_line" maxlen:"65536"`
	Argv    []string `json:"argv,omitempty" jsonschema:"program and arguments as a list"`
	Dir     string   `json:"cwd,omitempty" jsonschema:"directory to run in" alias:"working_dir,workdir,working_directory,dir,directory"`
	Seconds float64  `json:"timeout_seconds,omitempty" jsonschema:"timeout in seconds" min:"0" max:"1800" alias:"timeout"`
	Binary  string   `json:"binary,omitempty" jsonschema:"the program, with args" hidden:"yes" alias:"program,executable"`
	Args    []string `json:"args,omitempty" jsonschema:"arguments of binary" hidden:"yes" alias:"arguments"`
}

func (t credentialed) Spec() tool.Spec {
	programs := "a configured program, such as gh or aws,"
	if names := t.router.o.Programs(context.Background()).names(); len(names) > 0 {
		programs = "one of the programs " + strings.Join(names, ", ")
	}
	return tool.Spec{
		Name: "credentialed_exec", Group: "runtime", Title: "Run with credentials", Risk: tool.Runs,
		Hints:   tool.Hints{OpenWorld: true},
		Timeout: longest + time.Minute,
		Doc: "Runs " + programs + ` with the operator's credentials. Returns its output.
No shell: no pipes or variables. Send command or argv. For other commands use exec.`,
		Also: []string{"credentialed_cli", "secure_cli", "secure_exec"},
		Keywords: "cli cloud github gh pull request issue gcloud aws kubectl kubernetes terraform deploy operator " +
			"credentials login",
	}
}

// order returns the command of the arguments, in any of the forms that models send.
func (a credentialedArgs) order() (Order, error) {
	o := Order{Dir: a.Dir, Timeout: time.Duration(a.Seconds * float64(time.Second))}
	command := strings.TrimSpace(a.Command)
	switch {
	case command != "" && a.Binary != "" || len(a.Argv) > 0 && (command+a.Binary != "" || len(a.Args) > 0):
		return o, tool.Errorf(tool.Invalid, "the command is given twice").Try("send only command or only argv")
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
	o, err := t.order(ctx, a)
	if err != nil {
		return tool.Plan{}, err
	}
	return t.router.Prepare(ctx, o)
}

// order returns the command, and before any other problem that there are no programs.
func (t credentialed) order(ctx context.Context, a credentialedArgs) (Order, error) {
	if all := t.router.o.Programs(ctx); len(all) == 0 {
		_, err := all.named(Order{})
		return Order{}, err
	}
	return a.order()
}
