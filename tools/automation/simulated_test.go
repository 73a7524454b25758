package automation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/automation/schedule"
	"github.com/mcp-tools/mcp-tools/tools/messaging"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat"
	"github.com/mcp-tools/mcp-tools/tools/messaging/chat/markup"
)

// The simulation: each of five jobs is due every 50 seconds, one of them at each multiple of 10 seconds.
// Its run makes a call, which sends a message. The clock moves by 5 seconds when nothing is left to do.
const (
	simulatedJobs  = 5
	simulatedEvery = 10 * time.Second
	simulatedStep  = 5 * time.Second
	simulatedTime  = 10 * time.Minute
	// attemptLease ends between two runs.
	attemptLease = 65 * time.Second
)

// A peer is the test's server, as the processes see it.
type peer struct{ url, name string }

// ask sends a request. The test may end this process instead of answering.
func (p peer) ask(ctx context.Context, what, id, text string) error {
	query := url.Values{"process": {p.name}, "id": {id}, "text": {text}}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+"/"+what+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

func (peer) Abilities() chat.Abilities             { return chat.Abilities{MaxText: 1000} }
func (peer) Render(markdown string) string         { return markup.Plain(markdown) }
func (peer) Check(context.Context) (string, error) { return "@peer", nil }

// Send sends a message.
func (p peer) Send(ctx context.Context, m chat.Message) (chat.Sent, error) {
	if err := errors.Join(p.ask(ctx, "before", m.Key, m.Text), p.ask(ctx, "message", m.Key, m.Text)); err != nil {
		return chat.Sent{}, &chat.Error{Kind: chat.Unknown, Text: "the connection ended", Cause: err}
	}
	return chat.Sent{Ref: chat.Ref{Chat: m.Chat, ID: m.Key}}, nil
}

// call does what a job is for: it asks the peer, and puts a message into the outbox.
func (p peer) call(ctx context.Context, s *store.Store, o *messaging.Outbox, c ScheduledCall) error {
	var run string
	var due int64
	name := c.Grant.Caller.Session
	if err := s.Row(ctx, `SELECT cron_run.id, cron_run.due FROM cron_run JOIN cron ON cron.id = cron_run.cron
		WHERE cron.name = $1 AND cron_run.ended = 0`, []any{name}, &run, &due); err != nil {
		return err
	}
	text := fmt.Sprint(name, " ", due)
	if err := p.ask(ctx, "call", run, text); err != nil {
		return err
	}
	return s.Update(ctx, func(t *store.Tx) error {
		_, _, err := o.Put(t, messaging.Post{Channel: "peer", Message: chat.Message{Chat: text, Text: text}})
		return err
	})
}

// TestSimulatedChild runs in the processes of TestTenMinutes.
func TestSimulatedChild(t *testing.T) {
	dsn := os.Getenv("SIMULATED_DSN")
	if dsn == "" {
		t.Skip("for another test")
	}
	storetest.UseClock(os.Getenv("SIMULATED_DIR"))
	p := peer{os.Getenv("SIMULATED_URL"), os.Getenv("SIMULATED_NAME")}
	s := storetest.Open(t, dsn)
	defer s.Urgent()()
	o := messaging.NewOutbox(messaging.OutboxOptions{
		Store: s, Lease: attemptLease, Slots: 1, Accounts: messaging.NewAccounts([]messaging.Account{
			{Name: "peer", Service: chat.Service{Name: "peer"}, Open: func() (chat.Channel, error) { return p, nil }},
		}),
	})
	scheduler := NewScheduler(SchedulerOptions{Store: s, Call: func(ctx context.Context, c ScheduledCall) tool.Result {
		if err := p.call(ctx, s, o, c); err != nil {
			return tool.Failure(err)
		}
		return tool.Text("done")
	}})
	o.Start()
	scheduler.Start()
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test ends it
	if err := errors.Join(scheduler.Close(), o.Close()); err != nil {
		t.Error(err)
	}
}

// A simulation is what the processes talk to. It kills some of them.
type simulation struct {
	t     *testing.T
	s     *store.Store
	clock *storetest.Clock
	dir   string
	url   string
	begin time.Time

	mu        sync.Mutex
	processes map[string]*exec.Cmd
	started   int
	holder    map[string]string   // the process in which a run or a message was last seen, by id
	dead      map[string]int      // the attempt of a run or a message that died with its process, by id
	calls     map[string]int      // by text
	messages  map[string][]string // by text without a mark
	kills     map[string]int      // by the request at which the process died
}

func (m *simulation) start() {
	m.started++
	name := fmt.Sprint("process ", m.started)
	cmd := exec.Command(os.Args[0], "-test.run=^TestSimulatedChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), "SIMULATED_DSN="+m.clock.DSN, "SIMULATED_DIR="+m.dir, "SIMULATED_URL="+m.url,
		"SIMULATED_NAME="+name)
	cmd.Stderr = os.Stderr
	_, err := cmd.StdinPipe() // closed when this process ends
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		m.t.Error(err)
		return
	}
	m.processes[name] = cmd
}

// fate returns at which request the process of a run dies. Two runs of one job that follow each other do
// not both die, because a job that fails repeatedly pauses.
func fate(run int) string {
	switch run % 12 {
	case 1, 5:
		return "call"
	case 11:
		return "before"
	case 9:
		return "message"
	case 7:
		return "message, always"
	}
	return ""
}

// run returns the number of the run of a text: the jobs are due one after the other.
func (m *simulation) run(text string) int {
	var job int
	var due int64
	if _, err := fmt.Sscanf(text, "job%d %d", &job, &due); err != nil {
		m.t.Errorf("%q: %v", text, err)
	}
	return int(store.FromMillis(due).Sub(m.begin) / simulatedEvery)
}

const sentAgain = "(sent again: the first attempt may have arrived)\n\n"

// ServeHTTP notes a request, and kills its process if that is its fate.
func (m *simulation) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	what, query := strings.Trim(r.URL.Path, "/"), r.URL.Query()
	id, name, text := query.Get("id"), query.Get("process"), query.Get("text")
	plain := strings.TrimPrefix(text, sentAgain)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.holder[id] = name
	switch what {
	case "call":
		m.calls[text]++
	case "message":
		m.messages[plain] = append(m.messages[plain], text)
	}
	dies, always := strings.CutSuffix(fate(m.run(plain)), ", always")
	if what == dies && (always || text == plain) {
		m.kills[what]++
		m.kill(name)
	}
}

// kill ends a process, and starts another one.
func (m *simulation) kill(name string) {
	_ = m.processes[name].Process.Kill()
	_ = m.processes[name].Wait() // an error: it was killed
	delete(m.processes, name)
	for id, holder := range m.holder {
		var attempt int
		err := m.s.Row(m.t.Context(), `SELECT attempt FROM job WHERE id = $1 AND state = 'running'`, []any{id}, &attempt)
		if holder == name && err == nil {
			m.dead[id] = attempt
		} else if err != nil && !errors.Is(err, store.ErrNotFound) {
			m.t.Error(err)
		}
	}
	m.start()
}

// idle reports whether nothing is left to do at a time: what is not due waits, and what was begun has died
// with its process. The third attempt at a message makes no request.
func (m *simulation) idle(now time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	idle := true
	err := m.s.View(m.t.Context(), func(t *store.Tx) error {
		idle = true
		return t.Each(`SELECT id, CASE WHEN state = 'running' THEN 1 ELSE 0 END, run_at, attempt FROM job
				WHERE state IN ('queued', 'running')`, nil, func(scan store.Scan) error {
			var id string
			var begun, attempt int
			var due int64
			err := scan(&id, &begun, &due, &attempt)
			if due <= store.Millis(now) || begun == 1 && attempt <= 2 && m.dead[id] != attempt {
				idle = false
			}
			return err
		})
	})
	if err != nil {
		m.t.Fatal(err)
	}
	return idle
}

// move moves the clock, and waits until nothing is left to do.
func (m *simulation) move(to time.Time) {
	m.t.Helper()
	m.clock.Set(m.t, to, jobs.Topic, messaging.Topic)
	for end := time.Now().Add(time.Minute); !m.idle(to); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			m.t.Fatalf("what is due after %s is not done", to.Sub(m.begin))
		}
	}
}

// TestTenMinutes has three processes that run jobs and send messages for ten minutes of their database's clock,
// and kills them at work. Every due run is done once, also if its process dies. Every message arrives once, or
// twice with a mark.
func TestTenMinutes(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { dir := t.TempDir(); testTenMinutes(t, dir, dir) })
	t.Run("postgres", func(t *testing.T) { testTenMinutes(t, storetest.Database(t), t.TempDir()) })
}

func testTenMinutes(t *testing.T, dsn, dir string) {
	s := storetest.Open(t, dsn)
	rig := newRig(t, s) // it plans, and runs nothing
	m := &simulation{
		t: t, s: s, dir: dir, begin: time.Now().Add(-time.Hour).Truncate(time.Second),
		processes: map[string]*exec.Cmd{}, holder: map[string]string{}, dead: map[string]int{},
		calls: map[string]int{}, messages: map[string][]string{}, kills: map[string]int{},
	}
	for i := range simulatedJobs {
		rig.put(t, fmt.Sprint("job", i), 2*time.Hour, func(j *savedJob) {
			j.Notify = "never"
			j.Schedule = schedule.Schedule{
				Every: simulatedJobs * simulatedEvery, Zone: "UTC",
				Anchor: m.begin.Add(time.Duration(i+1) * simulatedEvery),
			}
		})
	}
	if err := s.Update(t.Context(), func(tx *store.Tx) error { // by this clock they are due already
		_, err := tx.Exec(`UPDATE job SET created = 0,
			run_at = (SELECT next_at FROM cron WHERE cron.queued = job.id)`)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	m.clock = storetest.NewClock(t, s, dsn)
	m.clock.Set(t, m.begin)
	server := httptest.NewServer(m)
	defer server.Close()
	m.url = server.URL
	m.mu.Lock()
	for range 3 {
		m.start()
	}
	m.mu.Unlock()
	defer m.end()
	at := m.begin
	for at.Sub(m.begin) < simulatedTime {
		at = at.Add(simulatedStep)
		m.move(at)
	}
	for i := range simulatedJobs {
		got := rig.cron(rig.ctx, t, fmt.Sprintf(`{"action":"pause","id":"job%d"}`, i))
		if !strings.Contains(got, "is paused") {
			t.Fatal(got)
		}
	}
	for range 3 * attemptLease / simulatedStep { // what is sent again
		at = at.Add(simulatedStep)
		m.move(at)
	}
	m.check()
}

// end ends the processes.
func (m *simulation) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, cmd := range m.processes {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // an error: it was killed
	}
}

// check compares what was done with what was due.
func (m *simulation) check() {
	m.mu.Lock()
	defer m.mu.Unlock()
	runs := map[string]int{}
	var open int
	if err := m.s.View(m.t.Context(), func(t *store.Tx) error {
		clear(runs)
		if err := t.Row("SELECT count(*) FROM outbox WHERE ended = 0", nil, &open); err != nil {
			return err
		}
		return t.Each(`SELECT cron.name, cron_run.due FROM cron_run JOIN cron ON cron.id = cron_run.cron
			WHERE cron_run.ended > 0`, nil, func(scan store.Scan) error {
			var name string
			var due int64
			err := scan(&name, &due)
			runs[fmt.Sprint(name, " ", due)]++
			return err
		})
	}); err != nil {
		m.t.Fatal(err)
	}
	total := int(simulatedTime / simulatedEvery)
	if len(runs) != total || open > 0 {
		m.t.Errorf("there are %d runs, want %d; %d messages wait", len(runs), total, open)
	}
	for n := 1; n <= total; n++ {
		due := m.begin.Add(time.Duration(n) * simulatedEvery)
		text := fmt.Sprintf("job%d %d", (n-1)%simulatedJobs, store.Millis(due))
		if runs[text] != 1 || m.calls[text] != 1 {
			m.t.Errorf("run %d was done %d times with %d calls", n, runs[text], m.calls[text])
		}
		want := map[string][]string{
			"": {text}, "before": {sentAgain + text}, "message": {text, sentAgain + text},
			"message, always": {text, sentAgain + text},
		}[fate(n)]
		if got := m.messages[text]; !slices.Equal(got, want) {
			m.t.Errorf("the message of run %d arrived as %q, want %q", n, got, want)
		}
	}
	if want := (map[string]int{"call": 10, "before": 5, "message": 15}); !maps.Equal(m.kills, want) {
		m.t.Errorf("the processes died %v, want %v", m.kills, want)
	}
}
