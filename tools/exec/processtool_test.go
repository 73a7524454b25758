package exec

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/sandbox"
	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// started returns the tools, and a command that runs in the background.
func started(t testing.TB, text string, o Options) ([]tool.Tool, *actor) {
	t.Helper()
	a := &actor{status: running(), act: forever}
	a.status.Text, a.status.ID, a.status.Dir, a.status.Tier = text, "p_1", "/w", "kernel"
	o.Commands = &stage{site: isolated(), all: []*actor{a}}
	return Tools(o), a
}

func TestRiskOfTypedInput(t *testing.T) {
	for _, test := range []struct {
		text, args string
		want       tool.Risk
	}{
		{"npm start", `{"action":"list"}`, tool.Reads},
		{"npm start", `{"action":"poll","id":"p_1"}`, tool.Reads},
		{"npm start", `{"action":"logs","id":"p_1"}`, tool.Reads},
		{"npm start", `{"action":"wait","id":"p_1"}`, tool.Reads},
		{"npm start", `{"action":"kill","id":"p_1"}`, tool.Writes},
		{"npm start", `{"action":"remove","id":"p_1"}`, tool.Writes},
		{"npm start", `{"action":"write","id":"p_1","data":"rs\n"}`, tool.Writes},
		{"npm start", `{"action":"write","id":"p_9","data":"rs\n"}`, tool.Reads}, // there is none, which is an error
		{"npm start", `{"action":"dance"}`, tool.Reads},
		{"bash", `{"action":"write","id":"p_1","data":"ls\n"}`, tool.Reads},
		{"bash", `{"action":"submit","id":"p_1","data":"ls"}`, tool.Reads},
		{"bash", `{"action":"send_keys","id":"p_1","data":"ls","keys":["Enter"]}`, tool.Reads},
		{"bash", `{"action":"write","id":"p_1","data":"curl x | sh\n"}`, tool.Runs},
		{"bash", `{"action":"write","id":"p_1","data":"ls"}`, tool.Runs}, // what follows is not known
		{"bash", `{"action":"send_keys","id":"p_1","keys":["Up","Enter"]}`, tool.Runs},
		{"bash", `{"action":"send_keys","id":"p_1","keys":["C-c"]}`, tool.Writes},
		{"bash", `{"action":"write","id":"p_1","hex":["6c","73","0a"]}`, tool.Runs},
		{"python3", `{"action":"write","id":"p_1","data":"import os\n"}`, tool.Runs},
		{"python3 ask.py", `{"action":"write","id":"p_1","data":"Ann\n"}`, tool.Writes},
		{"python3 -u ask.py x", `{"action":"submit","id":"p_1","data":"Ann"}`, tool.Writes},
		{"bash setup.sh", `{"action":"submit","id":"p_1","data":"y"}`, tool.Writes},
		{"node server.js", `{"action":"write","id":"p_1","data":"rs\n"}`, tool.Writes},
		{"python3 -i ask.py", `{"action":"write","id":"p_1","data":"Ann\n"}`, tool.Runs},
		{"bash --rcfile x.sh", `{"action":"write","id":"p_1","data":"curl x | sh\n"}`, tool.Runs},
		{"bash /dev/stdin.sh", `{"action":"write","id":"p_1","data":"curl x | sh\n"}`, tool.Runs},
		{"python3 ask.py; python3", `{"action":"write","id":"p_1","data":"Ann\n"}`, tool.Runs},
		{"python3 $X.py", `{"action":"write","id":"p_1","data":"Ann\n"}`, tool.Runs},
		{"python3.12 -i", `{"action":"write","id":"p_1","data":"1\n"}`, tool.Runs},
	} {
		all, _ := started(t, test.text, Options{})
		if got, why := rate(t, bind(t, all, "process", test.args)); got != test.want {
			t.Errorf("%s: %s %s (%s), want %s", test.text, test.args, got, why, test.want)
		}
	}
}

func TestTypingIsJudged(t *testing.T) {
	all, a := started(t, "bash", Options{})
	call := bind(t, all, "process", `{"action":"write","id":"p_1","data":"rm -rf /\n"}`)
	if _, _, err := factsOf(t, call); tool.AsError(err).Kind != tool.Refused {
		t.Error(err)
	}
	if _, err := call.Run(within(t, nil)); tool.AsError(err).Kind != tool.Refused || a.typed != "" {
		t.Errorf("%v, %q was typed", err, a.typed)
	}
	facts, plan, err := factsOf(t, bind(t, all, "process", `{"action":"write","id":"p_1","data":"x"}`))
	if err != nil || !plan.Once || facts["process"] != "p_1, bash" {
		t.Errorf("%+v, %v", facts, err)
	}
}

func TestTypedInput(t *testing.T) {
	for args, want := range map[string]struct {
		tty   bool
		typed string
		ended bool
	}{
		`{"action":"write","id":"p_1","data":"a\nb"}`:                    {false, "a\nb", false},
		`{"action":"write","id":"p_1","data":"a","eof":true}`:            {false, "a", true},
		`{"action":"submit","id":"p_1","data":"a"}`:                      {true, "a\r", false},
		`{"action":"submit","id":"p_1","text":"a","bracketed":true}`:     {false, "a\n", false},
		`{"action":"send-keys","id":"p_1","keys":["C-d"]}`:               {false, "", true},
		`{"action":"send-keys","id":"p_1","keys":["C-d","C-c"]}`:         {true, "\x04\x03", false},
		`{"action":"send-keys","id":"p_1","literal":":w","keys":["CR"]}`: {true, ":w\r", false},
		`{"action":"paste","id":"p_1","text":"x"}`:                       {true, "x", false},
	} {
		synctest.Test(t, func(t *testing.T) {
			all, a := started(t, "prog", Options{})
			a.status.TTY = want.tty
			if _, err := bind(t, all, "process", args).Run(within(t, nil)); err != nil {
				t.Errorf("%s: %v", args, err)
			}
			if a.typed != want.typed || a.closed != want.ended {
				t.Errorf("%s: %q, closed %v", args, a.typed, a.closed)
			}
		})
	}
}

// TestPeekLeavesOutputNew has a person stop a command in the page of an app, which shows its output. All of it stays
// new for the model's next poll, and that the command ended too.
func TestPeekLeavesOutputNew(t *testing.T) {
	all, a := started(t, "x", Options{})
	a.out.write("one\n")
	in := within(t, nil)
	use := func(args, want string) {
		t.Helper()
		res, err := bind(t, all, "process", args).Run(in)
		if err != nil || strings.Split(res.Text(), "\n[")[0] != want {
			t.Errorf("%s: %q, %v", args, res.Text(), err)
		}
	}
	use(`{"action":"poll","id":"p_1"}`, "one")
	a.out.write("two\n")
	use(`{"action":"kill","id":"p_1","peek":true}`, "two")
	use(`{"action":"poll","id":"p_1"}`, "two")
	use(`{"action":"poll","id":"p_1"}`, "(nothing new)")
}

// TestPollsShowEachByteOnce has a model that forgets offsets, and two sessions.
func TestPollsShowEachByteOnce(t *testing.T) {
	all, a := started(t, "x", Options{})
	a.out.write("one\n")
	poll := func(ctx context.Context, want string) {
		t.Helper()
		res, err := bind(t, all, "process", `{"action":"poll","id":"p_1"}`).Run(ctx)
		if err != nil || strings.Split(res.Text(), "\n[")[0] != want {
			t.Errorf("%q, %v", res.Text(), err)
		}
	}
	mine := within(t, nil)
	other := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "a", User: "u", Session: "t"}})
	poll(mine, "one")
	poll(mine, "(nothing new)")
	a.out.write("two\n")
	a.err.write("three\n")
	poll(other, "one\ntwo\nstderr:\nthree")
	poll(mine, "two\nstderr:\nthree")
	a.out.write(strings.Repeat("x\n", 10_000))
	res, err := bind(t, all, "process", `{"action":"poll","id":"p_1"}`).Run(mine)
	if err != nil || !strings.HasPrefix(res.Text(),
		"[14000 bytes left out here: log with offset 8 reads on from there]\nx\n") {
		t.Errorf("%.200s, %v", res.Text(), err)
	}
}

// TestLogInPages reads a log from end to end by the offsets in its answers.
func TestLogInPages(t *testing.T) {
	all, a := started(t, "x", Options{Scrub: scrubber(t)})
	var whole strings.Builder
	for i := range 3000 {
		whole.WriteString(fmt.Sprintf("line %d\n", i))
	}
	a.out.write(whole.String())
	got, offset := "", 0
	for range 20 {
		res, err := bind(t, all, "process", fmt.Sprintf(`{"action":"log","id":"p_1","offset":%d}`,
			offset)).Run(within(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		head, text, _ := strings.Cut(res.Text(), "\n")
		got += text + "\n"
		at := strings.Index(head, "go on with offset ")
		if at < 0 {
			break
		}
		if _, err := fmt.Sscanf(head[at:], "go on with offset %d", &offset); err != nil {
			t.Fatal(err)
		}
	}
	if got != whole.String() {
		t.Errorf("%d bytes of %d came", len(got), len(whole.String()))
	}
	for args, want := range map[string]string{
		`{"action":"log","id":"p_1","tail":2}`:                 "line 2998\nline 2999",
		`{"action":"log","id":"p_1","limit":2}`:                "line 2998\nline 2999",
		`{"action":"log","id":"p_1","offset":7,"limit":2}`:     "line 1\nline 2",
		`{"action":"log","id":"p_1","offset":28880,"limit":9}`: "line 2999",
		`{"action":"log","id":"p_1","pattern":"^line 1234$"}`:  "1235:line 1234",
		`{"action":"log","id":"p_1","offset":999999}`:          "",
	} {
		res, err := bind(t, all, "process", args).Run(within(t, nil))
		text := res.Text()
		if strings.HasPrefix(text, "[") {
			_, text, _ = strings.Cut(text, "\n")
		}
		if err != nil || text != want {
			t.Errorf("%s: %q, %v", args, text, err)
		}
	}
	res, err := bind(t, all, "process", `{"action":"log","id":"p_1","pattern":"line"}`).Run(within(t, nil))
	if err != nil || !strings.HasPrefix(res.Text(), "[2900 earlier matches not shown") ||
		!strings.HasSuffix(res.Text(), "\n3000:line 2999") {
		t.Errorf("%.200s, %v", res.Text(), err)
	}
}

// TestWindowsCutNoSecrets looks at a log with a key in it through
// windows of every kind.
func TestWindowsCutNoSecrets(t *testing.T) {
	key := strings.Join(pem(), "\n") + "\n"
	all, a := started(t, "x", Options{Scrub: scrubber(t)})
	var seen strings.Builder
	see := func(args string) {
		res, err := bind(t, all, "process", args).Run(within(t, nil))
		if err != nil {
			t.Fatal(err)
		}
		seen.WriteString(res.Text())
	}
	a.out.write(strings.Repeat("before\n", 30))
	for i := 0; i < len(key); i += 97 {
		a.out.write(key[i:min(i+97, len(key))])
		see(`{"action":"poll","id":"p_1"}`)
		see(`{"action":"log","id":"p_1","tail":3}`)
	}
	a.out.write(strings.Repeat("after\n", 30))
	for offset := 0; offset < int(a.out.Size()); offset += 61 {
		see(fmt.Sprintf(`{"action":"log","id":"p_1","offset":%d,"limit":5}`, offset))
	}
	see(`{"action":"log","id":"p_1","pattern":"Z"}`)
	if strings.Contains(seen.String(), "q9Z/") || !strings.Contains(seen.String(), "after") {
		t.Errorf("%s", seen.String())
	}
}

func TestLogWithAGap(t *testing.T) {
	all, a := started(t, "x", Options{})
	a.out.write(strings.Repeat("0123456\n", 1000))
	a.out.from, a.out.to = 800, 6400
	res, err := bind(t, all, "process", `{"action":"log","id":"p_1","offset":1000}`).Run(within(t, nil))
	if err != nil || !strings.Contains(res.Text(), "[bytes 1000 to 6400 were dropped") ||
		!strings.HasSuffix(res.Text(), "0123456") {
		t.Errorf("%.300s, %v", res.Text(), err)
	}
	res, err = bind(t, all, "process", `{"action":"log","id":"p_1","offset":0,"limit":48000}`).Run(within(t, nil))
	if err != nil || !strings.Contains(res.Text(), "[5600 bytes were dropped here") {
		t.Errorf("%.300s, %v", res.Text(), err)
	}
}

func TestWaitEndsWithItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all, _ := started(t, "x", Options{})
		ctx, cancel := context.WithTimeout(within(t, &reporter{}), time.Second)
		defer cancel()
		if _, err := bind(t, all, "process", `{"action":"wait","id":"p_1","timeout_seconds":60}`).Run(ctx); err == nil {
			t.Error("it did not end")
		}
	})
}

// TestWaitSaysThatItWaits has a client that gives up on calls that say nothing.
func TestWaitSaysThatItWaits(t *testing.T) {
	rep := &reporter{}
	synctest.Test(t, func(t *testing.T) {
		all, _ := started(t, "x", Options{})
		begun := time.Now()
		if _, err := bind(t, all, "process", `{"action":"wait","id":"p_1","timeout":60}`).Run(within(t,
			rep)); err != nil {
			t.Error(err)
		}
		if took := time.Since(begun); took != time.Minute {
			t.Errorf("it took %s", took)
		}
	})
	if n := len(rep.messages); n < 5 || n > 6 {
		t.Errorf("%d messages in a minute", n)
	}
}

func TestPlacesForgetTheOldest(t *testing.T) {
	p := newPlaces()
	c := tool.Caller{Agent: "a", Session: "s"}
	for i := range maxPlaces + 5 {
		p.shown(c, fmt.Sprint(i), 7, 0)
	}
	p.shown(c, "9", 8, 1)
	for i := range maxPlaces + 5 {
		if out, _ := p.of(c, fmt.Sprint(i)); (out == 0) != (i < 5) {
			t.Errorf("place %d of %d: %d", i, maxPlaces+5, out)
		}
	}
	if out, errs := p.of(c, "9"); out != 8 || errs != 1 {
		t.Errorf("%d, %d", out, errs)
	}
	if out, _ := p.of(tool.Caller{Agent: "b", Session: "s"}, "9"); out != 0 {
		t.Error("another's place")
	}
}

// TestOtherNames are calls as other systems make them, and ours.
func TestOtherNames(t *testing.T) {
	set, err := tool.NewSet(Tools(Options{})...)
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]string{
		`BashOutput {"bash_id":"p_1"}`:                                  "poll",
		`BashOutput {"bash_id":"p_1","filter":"err"}`:                   "log",
		`TaskOutput {"task_id":"p_1","block":false,"timeout":30000}`:    "poll",
		`TaskOutput {"task_id":"p_1"}`:                                  "wait",
		`KillShell {"shell_id":"p_1"}`:                                  "kill",
		`KillBash {"shell_id":"p_1"}`:                                   "kill",
		`TaskStop {"task_id":"p_1"}`:                                    "kill",
		`write_stdin {"session_id":"p_1","chars":"y\n"}`:                "write",
		`write_stdin {"session_id":"p_1","chars":"","yieldTimeMs":500}`: "poll",
		`process {"action":"poll","pattern":"x"}`:                       "poll",
	} {
		name, args, _ := strings.Cut(call, " ")
		one, ok := set.Lookup(name)
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		c, err := one.Bind([]byte(args), tool.DefaultLimits())
		if err != nil {
			t.Errorf("%s: %v", call, err)
			continue
		}
		var a processArgs
		if err := json.Unmarshal(c.JSON(), &a); err != nil {
			t.Fatal(err)
		}
		if name == "TaskOutput" && a.Other == 30000 && a.patience(0) != 30*time.Second {
			t.Errorf("%s: %s", call, a.patience(0))
		}
		if got, err := a.action(); got != want || err != nil || name != "process" && a.ID != "p_1" {
			t.Errorf("%s: %s of %s, %v", call, got, a.ID, err)
		}
	}
}

// TestTimeoutUnits checks timeouts whose unit depends on the name of the tool, or
// is not given at all.
func TestTimeoutUnits(t *testing.T) {
	set, err := tool.NewSet(Tools(Options{})...)
	if err != nil {
		t.Fatal(err)
	}
	for call, want := range map[string]time.Duration{
		`exec {"command":"x","timeout":30}`:                          30 * time.Second,
		`exec {"command":"x","timeout":600}`:                         10 * time.Minute,
		`exec {"command":"x","timeout":1500}`:                        1500 * time.Millisecond,
		`exec {"command":"x","timeout":5000}`:                        5 * time.Second,
		`exec {"command":"x","timeout_seconds":1800}`:                30 * time.Minute,
		`exec {"command":"x","timeout_ms":500}`:                      500 * time.Millisecond,
		`Bash {"command":"x","timeout":5000}`:                        5 * time.Second,
		`Bash {"command":"x","timeout":500}`:                         500 * time.Millisecond,
		`Bash {"command":"x","timeout_seconds":5}`:                   5 * time.Second,
		`tool::shell_exec {"argv":["x"],"timeout":900}`:              900 * time.Millisecond,
		`process {"action":"poll","id":"p_1","timeout":500}`:         500 * time.Millisecond,
		`process {"action":"wait","id":"p_1","timeout":60}`:          time.Minute,
		`process {"action":"wait","id":"p_1","timeout_seconds":500}`: 500 * time.Second,
		`TaskOutput {"task_id":"p_1","timeout":100}`:                 100 * time.Millisecond,
		`process {"action":"wait","id":"p_1","timeout":3600}`:        3600 * time.Millisecond,
	} {
		name, args, _ := strings.Cut(call, " ")
		one, ok := set.Lookup(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		c, err := one.Bind([]byte(args), tool.DefaultLimits())
		if err != nil {
			t.Fatalf("%s: %v", call, err)
		}
		var a struct {
			execArgs
			Process processArgs
		}
		if err := errors.Join(json.Unmarshal(c.JSON(), &a.execArgs), json.Unmarshal(c.JSON(), &a.Process)); err != nil {
			t.Fatal(err)
		}
		got := a.timeout(sandbox.Site{MaxTimeout: time.Hour})
		if one.Spec.Name == "process" {
			got = a.Process.patience(0)
		}
		if got != want {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
}
