package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/mcp-tools/mcp-tools/internal/needtest"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
)

// A ledger is a campaign: three replicas on one PostgreSQL and two Docker engines write, while one is killed every five
// seconds and other faults come and go. Each write that was acknowledged is looked for at the end.
type ledger struct {
	t                           *testing.T
	path, settings, work, certs string
	pg                          *storetest.Server
	dsn                         string
	replicas                    [3]*replica
	engines                     []*engine
	tokens                      map[string]string // by agent
	end                         time.Time
	last                        atomic.Int64 // number of the last entry

	mu      sync.Mutex
	entries []*entry
	acks    []ack
	kills   []time.Duration // from a kill to a server that serves again
	faults  []fault
	words   map[string]int // how often a call failed with a text
	again   []again
	read    strings.Builder // what the receiver of messages was answered
}

// An entry is one write.
type entry struct {
	kind, id string
	acked    bool   // an answer said that it was made
	unknown  bool   // no answer came
	handle   string // of a result, or the id of a task
}

// An again is a question that was asked again after it was answered.
type again struct {
	id            string
	allowed, seen time.Time
	before        string // the answer of the call before
}

// An ack is the moment of an acknowledgement.
type ack struct {
	kind string
	at   time.Time
	took time.Duration
}

// A fault is one that was injected.
type fault struct {
	name       string
	began, end time.Time
}

// A replica is a server that is started again whenever it ends.
type replica struct {
	data, internal string
	mu             sync.Mutex
	live           *wire
}

func (r *replica) get() *wire {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live == nil || r.live.dead() {
		return nil
	}
	return r.live
}

// An engine is a Docker engine with images and containers of its own, reached over mutual TLS.
type engine struct {
	t            *testing.T
	address, dir string
	certs        string
	mu           sync.Mutex
	cmd          *exec.Cmd
}

func (e *engine) start() {
	e.t.Helper()
	cmd := exec.Command("dockerd", "--host", e.address, "--host", "unix://"+e.dir+"/sock", "--tlsverify", "--tlscacert", e.certs+"/ca.pem",
		"--tlscert", e.certs+"/cert.pem", "--tlskey", e.certs+"/key.pem", "--data-root", e.dir+"/data", "--exec-root", e.dir+"/exec",
		"--pidfile", e.dir+"/pid", "--bridge", "none", "--iptables=false", "--ip6tables=false", "--storage-driver", "vfs")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := os.Create(e.dir + "/log")
	if err != nil {
		e.t.Error(err)
		return
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		e.t.Error(err)
		return
	}
	e.mu.Lock()
	e.cmd = cmd
	e.mu.Unlock()
	for late := time.Now().Add(hang); time.Now().Before(late); rest(context.Background(), 10) {
		if exec.Command("docker", "-H", "unix://"+e.dir+"/sock", "version").Run() == nil {
			return
		}
	}
	said, _ := os.ReadFile(log.Name())
	e.t.Errorf("the engine %s does not start: %s", e.address, said[max(0, len(said)-2000):])
}

func (e *engine) signal(s syscall.Signal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = syscall.Kill(-e.cmd.Process.Pid, s) // it may have ended
}

// kill kills the engine and all that it has started.
func (e *engine) kill() {
	e.signal(syscall.SIGKILL)
	_ = e.cmd.Wait()
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, at := range lines {
		var pid int
		text, _ := os.ReadFile(at)
		if _, err := fmt.Sscanf(at, "/proc/%d/cmdline", &pid); err == nil && bytes.Contains(text, []byte(e.dir+"/")) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	_ = os.Remove(e.dir + "/pid")
}

func (e *engine) close() {
	e.kill()
	mounts, _ := os.ReadFile("/proc/self/mounts")
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[1], e.dir+"/") {
			_ = syscall.Unmount(f[1], syscall.MNT_DETACH)
		}
	}
	_ = os.RemoveAll(e.dir)
}

// script runs a script in which errors end it.
func script(t *testing.T, text string, args ...string) {
	t.Helper()
	if out, err := exec.Command("sh", append([]string{"-ec", text, "sh"}, args...)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

const image = "mcp-tools-ledger:1"

// startEngines starts two engines with an image of busybox. certs is an empty directory for the certificates.
func startEngines(t *testing.T, certs string) (all []*engine) {
	t.Helper()
	if os.Geteuid() != 0 {
		needtest.Lacking(t, "docker", "only root starts engines")
	}
	for _, name := range []string{"dockerd", "docker", "openssl", "busybox"} {
		needtest.Program(t, name)
	}
	script(t, `cd "$1"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout key.pem -out cert.pem -days 1 -subj /CN=test \
	-addext subjectAltName=IP:127.0.0.1 -addext extendedKeyUsage=serverAuth,clientAuth -addext keyUsage=keyCertSign,digitalSignature 2>/dev/null
cp cert.pem ca.pem
mkdir -p root/bin root/tmp root/usr root/dev root/proc root/etc && chmod 1777 root/tmp
cp "$(command -v busybox)" root/bin/busybox
for a in $(busybox --list | grep -vx busybox); do ln -sf busybox root/bin/$a; done
tar -C root -cf image.tar .`, certs)
	for range 2 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		dir, err := os.MkdirTemp("/tmp", "engine")
		if err != nil {
			t.Fatal(err)
		}
		e := &engine{t: t, address: "tcp://" + listener.Addr().String(), dir: dir, certs: certs}
		listener.Close()
		e.start()
		t.Cleanup(e.close)
		script(t, `docker -H "unix://$1/sock" import "$2" `+image, dir, certs+"/image.tar")
		all = append(all, e)
	}
	return all
}

// newLedger starts everything.
func newLedger(t *testing.T) *ledger {
	l := &ledger{t: t, certs: t.TempDir(), work: t.TempDir(), tokens: map[string]string{}, words: map[string]int{}}
	l.path = filepath.Join(t.TempDir(), "mcp-tools")
	build := exec.Command("go", "build", "-o", l.path, ".") // static, as containers need it
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	l.engines = startEngines(t, l.certs)
	l.pg = storetest.Postgres(t, "fsync=on")
	l.dsn = l.pg.DSN("postgres") + "&search_path=public,simulated,pg_catalog"
	l.sql(`CREATE SCHEMA simulated; CREATE TABLE simulated.jump (by interval NOT NULL); INSERT INTO simulated.jump VALUES ('0');
		CREATE FUNCTION simulated.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
		'SELECT pg_catalog.clock_timestamp() + by FROM simulated.jump'`)
	kek := filepath.Join(t.TempDir(), "kek")
	if err := os.WriteFile(kek, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range l.replicas {
		l.replicas[n] = &replica{data: t.TempDir(), internal: freeAddress(t)}
	}
	small := l.replicas[2].data // a file system of its own, to be filled
	script(t, `mount -t tmpfs -o size=256m,mode=0700 ledger "$1"`, small)
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) })
	text := generous + "store: {dsn: '" + l.dsn + "'}\nvault: {key_file: " + kek + "}\n" +
		"policy: {autonomy: full, profiles: {careful: {extends: full, autonomy: supervised}}}\n" +
		"approvals: {wait: never}\n" + // a replica does not live as long as a call would wait for a person
		fmt.Sprintf("sandbox: {mode: docker, docker: {image: '%s', hosts: ['%s', '%s'], certs: %s}}\n",
			image, l.engines[0].address, l.engines[1].address, l.certs)
	l.settings = filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(l.settings, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	finish(t, l.command("teams", "create", "crew", "--lead", "lead", "--member", "bob"))
	for agent, profile := range map[string]string{"lead": "full", "bob": "full", "ann": "full", "cat": "careful"} {
		l.tokens[agent] = regexp.MustCompile(`mcpt_\w+`).FindString(finish(t, l.command("token", "create", "--name", agent,
			"--agent", agent, "--user", "ann", "--profile", profile)))
	}
	for _, dir := range []string{"files", "out", "jobs", "approved"} {
		if err := os.Mkdir(filepath.Join(l.work, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

// command returns a command of an operator on the machine of the first replica.
func (l *ledger) command(args ...string) *exec.Cmd {
	return apart(l.path, append(args, "--config", l.settings, "--data", l.replicas[0].data)...)
}

// sql runs statements in the database.
func (l *ledger) sql(statements string) {
	l.t.Helper()
	db, err := pgx.Connect(l.t.Context(), l.pg.DSN("postgres"))
	if err != nil {
		l.t.Fatal(err)
	}
	defer db.Close(context.WithoutCancel(l.t.Context()))
	if _, err := db.Exec(l.t.Context(), statements); err != nil {
		l.t.Error(err)
	}
}

// keep starts a replica whenever it has ended, until the context ends.
func (l *ledger) keep(ctx context.Context, n int) {
	r := l.replicas[n]
	for ctx.Err() == nil {
		file := filepath.Join(l.certs, fmt.Sprint(n, ".yaml"))
		text, err := os.ReadFile(l.settings)
		if err == nil {
			err = os.WriteFile(file, append(text, "server: {internal: '"+r.internal+"'}\n"...), 0o600)
		}
		if err != nil {
			l.t.Error(err)
			return
		}
		died := time.Now()
		w, err := dialWire(apart(l.path, "serve", "--http", "127.0.0.1:0", "--config", file, "--data", r.data, "--workspace", l.work), "")
		if err != nil { // the database may be away
			l.met("start: " + lastLine(err.Error()))
			rest(ctx, 10)
			continue
		}
		r.mu.Lock()
		r.live = w
		r.mu.Unlock()
		l.mu.Lock()
		l.kills = append(l.kills, time.Since(died))
		l.mu.Unlock()
		select {
		case <-w.gone:
		case <-ctx.Done():
			w.kill()
		}
	}
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// met counts a failure.
func (l *ledger) met(text string) {
	text = regexp.MustCompile(`[0-9a-f-]{8,}|\d+`).ReplaceAllString(strings.SplitN(text, "\n", 2)[0], "#")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.words[text[:min(len(text), 160)]]++
}

// ask calls a tool of any replica, once. Known is whether an answer came.
func (l *ledger) ask(agent, tool string, args map[string]any) (text string, ok, known bool) {
	r := l.replicas[rand.IntN(len(l.replicas))].get()
	if r == nil {
		rest(l.t.Context(), 5)
		return "", false, true // it was not asked
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := (&wire{r.process, r.url, l.tokens[agent]}).ask(ctx, tool, args)
	failed := a.Result.IsError || a.Error != nil
	for _, c := range a.Result.Content { // the later ones are events
		text += c.Text + "\n"
	}
	if a.Error != nil {
		text = a.Error.Message
	}
	if err != nil {
		text = err.Error()
		if _, rest, ok := strings.Cut(text, ": Post "); ok {
			text = "post: " + lastLine(rest)
		}
	}
	if agent == "bob" && err == nil {
		l.mu.Lock()
		l.read.WriteString(text + "\n")
		l.mu.Unlock()
	}
	if err != nil || failed {
		l.met(tool + ": " + text)
	}
	return text, err == nil && !failed, err == nil || errors.Is(err, errNotNow)
}

// sure calls a tool until it succeeds.
func (l *ledger) sure(agent, tool string, args map[string]any) string {
	for late := time.Now().Add(hang); time.Now().Before(late); rest(l.t.Context(), 10) {
		if text, ok, _ := l.ask(agent, tool, args); ok {
			return text
		}
	}
	l.t.Errorf("%s %v never succeeds", tool, args)
	return ""
}

// A work is one kind of writes.
type work struct {
	kind string
	// make makes one, and reports whether it was acknowledged, and whether an answer came.
	make func(l *ledger, e *entry) (ok, known bool)
	// count counts how often it is there at the end; marked is whether the server says that it may be missing.
	count func(l *ledger, e *entry) (n int, marked bool)
}

type m = map[string]any

func simple(agent, tool string, args func(id string) m) func(*ledger, *entry) (bool, bool) {
	return func(l *ledger, e *entry) (bool, bool) {
		_, ok, known := l.ask(agent, tool, args(e.id))
		return ok, known
	}
}

// lines counts the lines of a file of the workspace that are the id of an entry.
func lines(file string) func(*ledger, *entry) (int, bool) {
	return func(l *ledger, e *entry) (n int, _ bool) {
		text, _ := os.ReadFile(filepath.Join(l.work, strings.ReplaceAll(file, "ID", e.id)))
		for line := range strings.Lines(string(text)) {
			if strings.TrimSpace(line) == e.id {
				n++
			}
		}
		return n, false
	}
}

var createdID = regexp.MustCompile(`\(id=([0-9a-f-]+)`)

func works() []work {
	return []work{
		{"memory", simple("ann", "memory_store", func(id string) m { return m{"key": id, "content": "note " + id} }),
			func(l *ledger, e *entry) (int, bool) {
				text := l.sure("ann", "memory_get", m{"path": "memory/" + e.id + ".md"})
				if !strings.Contains(text, "note "+e.id) {
					l.t.Logf("memory %s: %s", e.id, text)
				}
				return min(strings.Count(text, "note "+e.id), 1), false
			}},
		{"file", simple("ann", "write_file", func(id string) m { return m{"path": "files/" + id, "content": id + "\n"} }), lines("files/ID")},
		{"appended", simple("ann", "write_file", func(id string) m {
			return m{"path": "appended" + id[len(id)-1:], "content": id + "\n", "append": true}
		}), func(l *ledger, e *entry) (int, bool) { return lines("appended"+e.id[len(e.id)-1:])(l, e) }},
		{"command", simple("ann", "exec", func(id string) m { return m{"command": "echo " + id + " >> out/" + id} }), lines("out/ID")},
		{"job", simple("ann", "cron", func(id string) m {
			return m{"action": "add", "name": id, "at": "1s", "tool": "write_file",
				"args": m{"path": "jobs/" + id, "content": id + "\n", "append": true}}
		}), func(l *ledger, e *entry) (int, bool) {
			n, _ := lines("jobs/ID")(l, e)
			if n == 1 {
				return n, false
			}
			runs := l.sure("ann", "cron", m{"action": "runs", "id": e.id})
			l.t.Logf("job %s wrote %d times: %s", e.id, n, runs)
			if n > 1 {
				l.tell(e.id)
			}
			return n, strings.Contains(runs, " failed ") // with the reason: the server that ran it ended, or could not record it
		}},
		{"task", func(l *ledger, e *entry) (bool, bool) {
			text, ok, known := l.ask("lead", "team_tasks", m{"action": "create", "subject": e.id})
			if found := createdID.FindStringSubmatch(text); ok && found != nil {
				e.handle = found[1]
			}
			return ok, known
		}, func(l *ledger, e *entry) (n int, _ bool) {
			l.row(&n, `SELECT count(*) FROM team_task WHERE subject = $1`, e.id)
			return n, false
		}},
		{"completed", func(l *ledger, e *entry) (bool, bool) {
			text, ok, _ := l.ask("bob", "team_tasks", m{"action": "claim"})
			found := regexp.MustCompile(`"id":"([0-9a-f-]+)"`).FindStringSubmatch(text)
			if !ok || found == nil { // without an answer it holds the task, and completes it by its id below
				_, _, _ = l.ask("bob", "team_tasks", m{"action": "complete", "text": "late"})
				return false, true
			}
			e.handle = found[1]
			_, ok, known := l.ask("bob", "team_tasks", m{"action": "complete", "task_id": e.handle, "text": e.id})
			return ok, known
		}, func(l *ledger, e *entry) (n int, _ bool) {
			l.row(&n, `SELECT count(*) FROM team_event v JOIN team_task k ON k.id = v.task WHERE k.id = $1 AND k.status = 'completed'
				AND v.action = 'completed' AND k.result = $2`, e.handle, e.id)
			return n, false
		}},
		{"message", simple("lead", "team_message", func(id string) m { return m{"action": "send", "to": "bob", "text": "say " + id} }),
			func(l *ledger, e *entry) (n int, _ bool) {
				l.row(&n, `SELECT count(*) FROM team_message WHERE content = $1`, "say "+e.id)
				if n == 1 && !strings.Contains(l.read.String(), "say "+e.id) {
					l.t.Errorf("message %s was never read", e.id)
					n = 0
				}
				return n, false
			}},
		{"result", func(l *ledger, e *entry) (bool, bool) {
			text, ok, known := l.ask("ann", "exec", m{"command": "seq 1 30000; echo " + e.id + "; seq 1 30000"})
			if found := regexp.MustCompile(`read_result with \{"id":"([^"]+)"`).FindStringSubmatch(text); ok && found != nil {
				e.handle = found[1]
				return true, true
			} else if ok {
				l.met("result without a handle: " + lastLine(text))
				return false, true
			}
			return ok, known
		}, func(l *ledger, e *entry) (int, bool) {
			n := strings.Count(l.sure("ann", "read_result", m{"id": e.handle, "grep": "^" + e.id + "$"}), e.id+"\n")
			if n > 0 {
				return n, false
			}
			note := l.sure("ann", "read_result", m{"id": e.handle, "grep": "left out here"})
			l.t.Logf("result %s: %s", e.id, note)
			return n, strings.Contains(note, "bytes left out here") // the disk was full
		}},
		{"approval", func(l *ledger, e *entry) (bool, bool) {
			args := m{"command": "rm -rf old; echo " + e.id + " >> approved/" + e.id}
			text, _, _ := l.ask("cat", "exec", args)
			found := regexp.MustCompile(`approvals allow ([a-z0-9]+)`).FindStringSubmatch(text)
			if found == nil {
				return false, true
			}
			if err := l.command("approvals", "allow", found[1]).Run(); err != nil {
				return false, true
			}
			e.handle = found[1] // from here on the decision is acknowledged
			allowed := time.Now()
			for before := "none"; time.Since(allowed) < hang; rest(l.t.Context(), 10) {
				text, ok, known := l.ask("cat", "exec", args)
				switch {
				case ok, !known:
					return ok, known
				case strings.Contains(text, "approvals allow "):
					l.mu.Lock()
					l.again = append(l.again, again{e.id, allowed, time.Now(), before})
					l.mu.Unlock()
					return false, true
				case !strings.Contains(text, "tokens cannot be checked") && !strings.Contains(text, "nothing was done") &&
					!strings.Contains(text, "no person can be asked") && text != "":
					return false, false // the call used the decision
				case text != "":
					before = text
				}
			}
			l.t.Errorf("approval %s: no call gets through", e.id)
			return false, true
		}, lines("approved/ID")},
	}
}

// tell logs the rows that a job has left.
func (l *ledger) tell(name string) {
	for _, query := range []string{
		`SELECT row_to_json(c)::text FROM cron c WHERE name = $1`,
		`SELECT row_to_json(r)::text FROM cron_run r WHERE cron IN (SELECT id FROM cron WHERE name = $1) ORDER BY began`,
		`SELECT row_to_json(j)::text FROM job j WHERE kind = 'cron' AND payload::json ->> 'Cron' IN (SELECT id FROM cron WHERE name = $1)`,
	} {
		var all string
		l.row(&all, `SELECT coalesce(string_agg(t, chr(10)), '') FROM (`+query+`) AS all_of (t)`, name)
		l.t.Log(all)
	}
}

func (l *ledger) row(into any, query string, args ...any) {
	db, err := pgx.Connect(l.t.Context(), l.pg.DSN("postgres"))
	if err == nil {
		defer db.Close(context.WithoutCancel(l.t.Context()))
		err = db.QueryRow(l.t.Context(), query, args...).Scan(into)
	}
	if err != nil {
		l.t.Error(err)
	}
}

// write makes entries of a kind until the end.
func (l *ledger) write(w work) {
	for time.Now().Before(l.end) {
		e := &entry{kind: w.kind, id: spell("e", int(l.last.Add(1)))}
		began := time.Now()
		ok, known := w.make(l, e)
		e.acked, e.unknown = ok, !known
		now := time.Now()
		l.mu.Lock()
		l.entries = append(l.entries, e)
		if ok {
			l.acks = append(l.acks, ack{w.kind, now, now.Sub(began)})
		}
		l.mu.Unlock()
		rest(l.t.Context(), 4)
	}
}

// inject injects each fault in turn, until the end.
func (l *ledger) inject() {
	quiet := 8 * time.Second
	during := 10 * time.Second
	hold := func() { time.Sleep(during) }
	full := filepath.Join(l.replicas[2].data, "full")
	all := []struct {
		name       string
		begin, end func()
	}{
		{"PostgreSQL stopped", func() { l.pg.Stop(l.t, "immediate"); hold() }, func() { l.pg.Start(l.t) }},
		{"all connections cut", func() { cutConnections(l.t, l.pg.DSN("postgres"), 5) }, func() {}},
		{"PostgreSQL frozen", func() { l.pg.Signal(l.t, syscall.SIGSTOP); hold() }, func() { l.pg.Signal(l.t, syscall.SIGCONT) }},
		{"a Docker engine frozen", func() { l.engines[0].signal(syscall.SIGSTOP); hold() }, func() { l.engines[0].signal(syscall.SIGCONT) }},
		{"a Docker engine killed", func() { l.engines[1].kill(); hold() }, func() { l.engines[1].start() }},
		{"clock one hour ahead", func() { l.sql(`UPDATE simulated.jump SET by = '1 hour'`); hold() }, func() { l.sql(`UPDATE simulated.jump SET by = '0'`) }},
		{"clock one hour behind", func() { l.sql(`UPDATE simulated.jump SET by = '-1 hour'`); hold() }, func() { l.sql(`UPDATE simulated.jump SET by = '0'`) }},
		{"disk of a replica full", func() {
			_ = exec.Command("dd", "if=/dev/zero", "of="+full, "bs=64k").Run() // it ends when the disk is full
			hold()
		}, func() { _ = os.Remove(full) }},
	}
	for n := 0; time.Now().Add(quiet + 2*during).Before(l.end); n++ {
		time.Sleep(quiet)
		f := all[n%len(all)]
		one := fault{name: f.name, began: time.Now()}
		f.begin()
		f.end()
		one.end = time.Now()
		l.mu.Lock()
		l.faults = append(l.faults, one)
		l.mu.Unlock()
	}
}

// TestLedger is the campaign, for MCP_TOOLS_LEDGER, such as 10m: .ci/nightly runs it.
func TestLedger(t *testing.T) {
	long, err := time.ParseDuration(os.Getenv("MCP_TOOLS_LEDGER"))
	if err != nil {
		t.Skip("MCP_TOOLS_LEDGER has no duration for the campaign")
	}
	l := newLedger(t)
	ctx, stop := context.WithCancel(t.Context())
	var keeping, writing sync.WaitGroup
	for n := range l.replicas {
		keeping.Go(func() { l.keep(ctx, n) })
	}
	defer func() { stop(); keeping.Wait() }()
	l.sure("ann", "exec", m{"command": "true"})
	l.end = time.Now().Add(long)
	all, writers := works(), map[string]int{"command": 3, "result": 2, "approval": 3} // the slow ones
	for _, w := range all {
		for range max(writers[w.kind], 1) {
			writing.Go(func() { l.write(w) })
		}
	}
	writing.Go(l.inject)
	writing.Go(func() {
		for time.Now().Before(l.end) {
			_, _, _ = l.ask("bob", "team_message", m{"action": "read"})
			rest(ctx, 10)
		}
	})
	for tick := time.NewTicker(5 * time.Second); time.Now().Before(l.end); {
		<-tick.C
		if w := l.replicas[rand.IntN(3)].get(); w != nil {
			w.kill()
		}
	}
	writing.Wait()
	l.check(all)
	stop()
	keeping.Wait()
	for _, r := range l.replicas {
		verified := finish(t, apart(l.path, "audit", "verify", "--config", l.settings, "--data", r.data))
		t.Logf("audit: %s", strings.TrimSpace(verified))
	}
}

// check looks for all entries, and prints the ledger.
func (l *ledger) check(all []work) {
	l.sure("ann", "datetime", m{})
	// Of killed servers a lease of 15 s has to end. A job that waits for a clock that was set back is none of this check.
	for open, begun := 1, time.Now(); open > 0 && time.Since(begun) < hang; rest(l.t.Context(), 10) {
		l.row(&open, `SELECT count(*) FROM job WHERE kind = 'cron' AND ended = 0`)
	}
	for _, a := range l.again {
		jumped := slices.ContainsFunc(l.faults, func(f fault) bool {
			return strings.HasPrefix(f.name, "clock") && f.began.Before(a.seen) && f.end.After(a.allowed)
		})
		if !jumped { // a decision is valid for minutes of the database's clock
			l.t.Errorf("approval %s was given at %s and asked for again at %s, after: %s", a.id, a.allowed, a.seen, a.before)
		}
	}
	for !strings.Contains(l.sure("bob", "team_message", m{"action": "read"}), `"count":0`) {
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n| | tried | acknowledged | median time | no answer | refused | lost | doubled | marked | made without an answer |\n|---|---|---|---|---|---|---|---|---|---|\n")
	for _, w := range all {
		var tried, acked, unknown, refused, lost, doubled, marked, extra int
		for _, e := range l.entries {
			if e.kind != w.kind {
				continue
			}
			tried++
			switch {
			case e.acked:
				acked++
			case e.unknown:
				unknown++
			default:
				refused++
			}
			if !e.acked && (w.kind == "completed" || w.kind == "memory" || w.kind == "result") {
				continue
			}
			n, said := 0, false
			if e.acked || w.kind != "job" {
				n, said = w.count(l, e)
			}
			switch {
			case e.acked && n == 0 && said:
				marked++
			case e.acked && n == 0:
				lost++
				l.t.Errorf("%s %s was acknowledged and is lost", w.kind, e.id)
			case n > 1:
				doubled++
				l.t.Errorf("%s %s is there %d times", w.kind, e.id, n)
			case !e.acked && n > 0:
				extra++
			}
		}
		var took []time.Duration
		for _, a := range l.acks {
			if a.kind == w.kind {
				took = append(took, a.took)
			}
		}
		slices.Sort(took)
		fmt.Fprintf(&b, "| %s | %d | %d | %.2f s | %d | %d | %d | %d | %d | %d |\n", w.kind, tried, acked, append(took, 0)[len(took)/2].Seconds(), unknown, refused, lost, doubled, marked, extra)
	}
	fmt.Fprintf(&b, "\n| fault | from its end to the first acknowledgement: median of kinds, longest |\n|---|---|\n")
	for _, f := range l.faults {
		var took []time.Duration
		slow := ""
		for _, w := range all {
			at := slices.IndexFunc(l.acks, func(a ack) bool { return a.kind == w.kind && a.at.After(f.end) })
			if at < 0 {
				slow = "none of " + w.kind
				continue
			}
			took = append(took, l.acks[at].at.Sub(f.end))
			if took[len(took)-1] == slices.Max(took) && !strings.HasPrefix(slow, "none") {
				slow = w.kind
			}
		}
		if slices.Sort(took); len(took) > 0 {
			fmt.Fprintf(&b, "| %s (%.0f s) | %.1f s, %.1f s (%s) |\n", f.name, f.end.Sub(f.began).Seconds(), took[len(took)/2].Seconds(),
				took[len(took)-1].Seconds(), slow)
		}
	}
	slices.Sort(l.kills)
	fmt.Fprintf(&b, "\n%d starts of replicas: ready after %s (median), %s (longest)\n", len(l.kills), l.kills[len(l.kills)/2], l.kills[len(l.kills)-1])
	for text, n := range l.words {
		fmt.Fprintf(&b, "%5d x %s\n", n, text)
	}
	l.t.Log(b.String())
}
