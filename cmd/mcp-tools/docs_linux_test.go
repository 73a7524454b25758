package main

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"mvdan.cc/sh/v3/shell"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/cli"
	"github.com/mcp-tools/mcp-tools/internal/docs"
	"github.com/mcp-tools/mcp-tools/internal/golden"
	"github.com/mcp-tools/mcp-tools/internal/needtest"
)

// TestGoldenDocsCommands runs the commands of the documentation, each page in a home
// directory that contains nothing, and compares what they print with what the page says:
//
//   - A block in the language console has commands after "$ " and what they print. A line
//     "..." stands for any lines. Times, ids and numbers of bytes may differ.
//   - A block in the language sh has commands that succeed.
//   - The comment "run" has commands that readers do not see.
//   - The comment "not run: WHY" before a block keeps it from being run. Its calls of this
//     program must still have commands and flags that exist.
//   - The comment "until: TEXT" before a block keeps its last command running until the
//     end of the page, and goes on when it has printed the text.
//   - The comment "answers: ..." gives its commands a terminal, and answers their questions.
func TestGoldenDocsCommands(t *testing.T) {
	if works, _ := condition("kernel"); !works {
		needtest.Lacking(t, "kernel sandbox", "the kernel sandbox does not work here")
	}
	pages, err := docs.Load(os.DirFS(filepath.Join("..", "..")))
	if err != nil {
		t.Fatal(err)
	}
	ran, notRun := 0, 0
	for _, page := range pages {
		var runs bool
		for _, b := range page.Blocks() {
			switch why, not := strings.CutPrefix(b.Comment, "not run:"); {
			case !isCommands(b) && strings.HasPrefix(page.Path, "docs/reference/commands/"): // usage
			case !isCommands(b):
				if starts := regexp.MustCompile(`(?m)^\s*(\$ )?(bin/)?mcp-tools [a-z-]`); starts.MatchString(b.Text) {
					t.Errorf("%s:%d: a block with commands needs the language sh or console", page.Path, b.Line)
				}
			case not:
				if !strings.HasPrefix(page.Path, "docs/reference/commands/") {
					notRun++
				}
				if len(strings.Fields(why)) < 3 {
					t.Errorf("%s:%d: say why it is not run", page.Path, b.Line)
				}
				checkCommands(t, page.Path, b)
			default:
				ran, runs = ran+1, true
			}
		}
		if runs {
			t.Run(page.Path, func(t *testing.T) {
				t.Parallel()
				runPage(t, page)
			})
		}
	}
	t.Logf("%d blocks are run, %d are not", ran, notRun)
}

func isCommands(b docs.Block) bool {
	return slices.Contains([]string{"sh", "console", "hidden"}, b.Language)
}

// checkCommands checks the calls of this program in a block that is not run.
func checkCommands(t *testing.T, page string, b docs.Block) {
	t.Helper()
	for line := range strings.Lines(strings.ReplaceAll(b.Text, "\\\n", " ")) {
		line = regexp.MustCompile(`\$\([^)]*\)|[<>|].*$`).ReplaceAllString(strings.TrimPrefix(line, "$ "), "x")
		words, err := shell.Fields(line, func(string) string { return "x" })
		if err != nil {
			continue // no command of ours is that hard to read
		}
		for len(words) > 0 && (strings.Contains(words[0], "=") || words[0] == "sudo") {
			words = words[1:]
		}
		if len(words) == 0 || filepath.Base(words[0]) != "mcp-tools" {
			continue
		}
		root := cli.New(app.Env{Out: io.Discard, Err: io.Discard, Getenv: func(string) string { return "" },
			Environ: func() []string { return nil }}).Command()
		command, rest, err := root.Find(words[1:])
		if err == nil {
			err = command.ParseFlags(rest)
		}
		if err != nil {
			t.Errorf("%s:%d: %s: %v", page, b.Line, strings.TrimSpace(line), err)
		}
	}
}

// A reading is one page that is followed, as a reader would.
type reading struct {
	t       *testing.T
	page    string
	dir     string // the root of the paths that the page shows
	state   string // the shell's variables and directory between commands
	servers []*exec.Cmd
	ports   map[string]string // those of the page, and free ones
	shown   *strings.Replacer // from this machine to the page
	real    *strings.Replacer // and back
}

func runPage(t *testing.T, page docs.Page) {
	r := &reading{t: t, page: page.Path, dir: t.TempDir(), state: t.TempDir(), ports: map[string]string{}}
	r.begin(page)
	t.Cleanup(r.end)
	blocks, differ := page.Blocks(), false
	for i, b := range blocks {
		if !isCommands(b) || strings.HasPrefix(b.Comment, "not run:") {
			continue
		}
		if b.Language != "console" {
			if out, code := r.run(b, b.Text, false); code != 0 {
				t.Fatalf("%s:%d: exit code %d:\n%s", page.Path, b.Line, code, out)
			}
			continue
		}
		steps, prints, differs := transcript(b.Text), []string{}, false
		for n, s := range steps {
			out, _ := r.run(b, s.command, n == len(steps)-1)
			same := matches(s.printed, out)
			if !same && !golden.Updating() {
				t.Errorf("%s:%d: $ %s prints something else (-page +now):\n%s", page.Path, b.Line, s.command,
					cmp.Diff(steady(s.printed), steady(out)))
			}
			if same && strings.Contains("\n"+s.printed, "\n...\n") {
				out = s.printed
			}
			differs = differs || !same
			prints = append(prints, s.shown+out)
		}
		if differs {
			differ, blocks[i].Text = true, strings.Join(prints, "")
		}
	}
	if differ && golden.Updating() {
		if err := os.WriteFile(filepath.Join("..", "..", page.Path), page.Replace(blocks), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// begin prepares the directories, and a free port for each that the page names.
func (r *reading) begin(page docs.Page) {
	for _, dir := range []string{"home/you", "backup", "srv"} {
		if err := os.MkdirAll(filepath.Join(r.dir, dir), 0o700); err != nil {
			r.t.Fatal(err)
		}
	}
	there, back := []string{r.dir, ""}, []string{}
	for _, dir := range []string{"/home/you", "/backup", "/srv"} {
		back = append(back, dir, r.dir+dir)
	}
	for _, b := range page.Blocks() {
		if !isCommands(b) {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:127\.0\.0\.1|0\.0\.0\.0|localhost):(\d{4})\b`).FindAllStringSubmatch(b.Text, -1) {
			if r.ports[m[1]] == "" {
				r.ports[m[1]] = freePort(r.t)
				there, back = append(there, ":"+r.ports[m[1]], ":"+m[1]), append(back, ":"+m[1], ":"+r.ports[m[1]])
			}
		}
	}
	r.shown, r.real = strings.NewReplacer(there...), strings.NewReplacer(back...)
	home := filepath.Join(r.dir, "home", "you")
	environment := "export HOME='" + home + "' MCP_TOOLS_USER=you TZ=UTC TERM=dumb LANG=C.UTF-8 GORACE=atexit_sleep_ms=0\n" +
		"export GIT_CONFIG_GLOBAL=/dev/null\n"
	for name, text := range map[string]string{"env": environment, "cwd": home} {
		if err := os.WriteFile(filepath.Join(r.state, name), []byte(text), 0o600); err != nil {
			r.t.Fatal(err)
		}
	}
}

// end stops the servers and shows their logs if the test failed.
func (r *reading) end() {
	for _, s := range r.servers {
		_ = syscall.Kill(-s.Process.Pid, syscall.SIGTERM) // it may have ended
		_ = s.Wait()
		if r.t.Failed() {
			r.t.Logf("%s printed:\n%s", s.Args[2], s.Stdout.(*logbook).text)
		}
	}
}

// run executes one command and returns what it prints on both outputs, and its exit
// code. The last command of a block with "until" keeps running.
func (r *reading) run(b docs.Block, command string, last bool) (string, int) {
	r.t.Helper()
	cmd := exec.Command(needtest.Program(r.t, "bash"), "-c", ". '"+r.state+"/env'; cd \"$(cat '"+r.state+"/cwd')\"\n"+
		r.real.Replace(command)+"\ncode=$?; export -p >'"+r.state+"/env'; pwd >'"+r.state+"/cwd'; exit $code")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "MCP_TOOLS_") || strings.HasPrefix(variable, "XDG_")
	})
	if b.Language != "console" {
		cmd.Args[2] = "set -e\n" + cmd.Args[2]
	}
	until, stays := strings.CutPrefix(b.Comment, "until: ")
	if stays && (last || b.Language != "console") {
		return r.stay(cmd, until), 0
	}
	var out []byte
	var err error
	if answers, asked := strings.CutPrefix(b.Comment, "answers: "); asked {
		out, err = r.answer(cmd, strings.Fields(answers))
	} else {
		out, err = cmd.CombinedOutput()
	}
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		r.t.Fatalf("%s:%d: %v", r.page, b.Line, err)
	}
	text := r.shown.Replace(unfolded(strings.ReplaceAll(string(out), "\r", "")))
	text = regexp.MustCompile(`mcpt_\w+`).ReplaceAllString(text, "mcpt_EXAMPLE")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text, cmd.ProcessState.ExitCode()
}

// stay starts a command that runs until the end of the page.
func (r *reading) stay(cmd *exec.Cmd, until string) string {
	r.t.Helper()
	log := &logbook{news: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.servers = append(r.servers, cmd)
	log.find(r.t, "(?m)^.*"+regexp.QuoteMeta(until)+".*\n")
	log.mu.Lock()
	defer log.mu.Unlock()
	return regexp.MustCompile(`mcpt_\w+`).ReplaceAllString(r.shown.Replace(log.text), "mcpt_EXAMPLE")
}

// prompt is the end of what a command prints when it waits for an answer.
var prompt = regexp.MustCompile(`(\]|>|:|\?) $`)

// answer runs a command in a terminal and types the answers to its questions.
func (r *reading) answer(cmd *exec.Cmd, answers []string) ([]byte, error) {
	terminal, err := pty.Start(cmd)
	if err != nil {
		return nil, err
	}
	defer terminal.Close()
	late := time.AfterFunc(hang, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	var out bytes.Buffer
	asked := 0 // the length of out at the last answer
	for piece := make([]byte, 4096); ; {
		n, err := terminal.Read(piece)
		out.Write(piece[:n])
		if err != nil { // the program has closed its end
			return out.Bytes(), cmd.Wait()
		}
		if len(answers) > 0 && prompt.Match(out.Bytes()[asked:]) {
			asked = out.Len()
			if _, err := io.WriteString(terminal, answers[0]+"\n"); err != nil {
				return out.Bytes(), err
			}
			answers = answers[1:]
		}
	}
}

// A step is a command of a transcript and what it prints.
type step struct{ shown, command, printed string }

func transcript(text string) []step {
	var steps []step
	more := false // the command continues
	for line := range strings.Lines(text) {
		command, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins:
			steps = append(steps, step{line, command, ""})
		case len(steps) == 0:
		case more:
			steps[len(steps)-1].shown += line
			steps[len(steps)-1].command += line
		default:
			steps[len(steps)-1].printed += line
		}
		more = (begins || more) && strings.HasSuffix(line, "\\\n")
	}
	return steps
}

// matches reports whether a page shows what a command prints.
func matches(page, now string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(steady(page)) {
		if line == "...\n" {
			pattern.WriteString(`(?:.*\n)*?`)
			continue
		}
		pattern.WriteString(regexp.QuoteMeta(line))
	}
	return regexp.MustCompile(`^` + pattern.String() + `$`).MatchString(steady(now))
}

// unfolded joins the lines of the facts of a question: paths of the machine of a test are longer than those of the page.
func unfolded(text string) string {
	return regexp.MustCompile(`(?m)^[A-Za-z]+:(\n  \| .*)+`).ReplaceAllStringFunc(text, func(fact string) string {
		return strings.Replace(strings.ReplaceAll(fact, "\n  | ", ""), ":", ": ", 1)
	})
}

// steady replaces what differs from run to run.
func steady(text string) string {
	for _, s := range []struct{ pattern, with string }{
		{`\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?)?`, "TIME"},
		{`(?m)^\d\d:\d\d(:\d\d)?\b`, "TIME"},
		{`\b\d+(\.\d+)? ?(ms|µs|s|seconds|minutes)\b`, "DURATION"},
		{`\b\d+(\.\d+)? ?(KiB|MiB|GiB|KB|kB|MB)\b`, "SIZE"},
		{`mcpt_\w+`, "TOKEN"},
		{`mcp-tools \S+ \(.*\)`, "VERSION"},
		{`"version":"[^"]*"`, "VERSION"},
		{`\b\d+ rows? of \d+ tables`, "SIZE"},
		{`\b\d+m\d+s\b`, "DURATION"},
		{`\[REDACTED:\w+\]`, "[REDACTED]"},
		{`(outside|end) [0-9a-f]{12}\b`, "$1 MARK"},
		{`(version|undo|redo|id|Token) \w{8}\b`, "$1 ID"},
		{`(?m)^[a-z2-7]{8}  `, "ID  "},
		{`(?m)^[a-z2-7]{12}\b`, "ID"},
		{`(?m)(\bundo .*  )[a-z2-7]{8}$`, "${1}ID"}, // in the audit log
		{`token:\w{8}\b`, "token:ID"},
		{`\bcli-\d+-[0-9a-f]+\b`, "SESSION"},
		{`\b[A-Z2-7]{20,}\b`, "ID"},
		{`\b\d+ bytes`, "SIZE"},
	} {
		text = regexp.MustCompile(s.pattern).ReplaceAllString(text, s.with)
	}
	id := regexp.MustCompile(`\b([a-z0-9]{8,64}|[A-Z0-9]{12,64})\b`)
	text = id.ReplaceAllStringFunc(text, func(word string) string {
		if strings.ContainsAny(word, "0123456789") {
			return "ID"
		}
		return word
	})
	return regexp.MustCompile(`  +`).ReplaceAllString(text, "  ")
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}
