package orders_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/store"
	"github.com/mcp-tools/mcp-tools/internal/store/storetest"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/internal/workspace"
	"github.com/mcp-tools/mcp-tools/internal/workspace/workspacetest"
	"github.com/mcp-tools/mcp-tools/tools/media/generated"
	"github.com/mcp-tools/mcp-tools/tools/media/orders"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/providertest"
)

type (
	object = map[string]any
	reply  = providertest.Reply
)

const (
	dashVideo = "POST /api/v1/services/aigc/video-generation/video-synthesis"
	dashTask  = "GET /api/v1/tasks/t1"
	dashStop  = "POST /api/v1/tasks/t1/cancel"
	sound     = "POST /v1/sound-generation"
)

func task(status string, more ...string) reply {
	output := object{"task_id": "t1", "task_status": status}
	for i := 0; i+1 < len(more); i += 2 {
		output[more[i]] = more[i+1]
	}
	return reply{Body: object{"output": output}}
}

// A shop is everything that orders need.
type shop struct {
	*orders.Orders
	tools map[string]tool.Tool
	ctx   context.Context // of a call
	dir   string
	inbox *inbox.Inbox
}

// options returns the options of orders at a provider at an address.
func options(t testing.TB, s *store.Store, url string, files workspace.Files, lease time.Duration) orders.Options {
	client := providertest.Client(t, &providertest.Server{URL: url})
	p, err := provider.New(provider.Options{
		Endpoints: []provider.Endpoint{
			{Name: "dashscope", Kind: "dashscope", URL: url},
			{Name: "elevenlabs", Kind: "elevenlabs", URL: url + "/v1"},
		},
		AskAbove: 500_000, API: client, Web: client,
		Wait: func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return orders.Options{
		Store: s, Inbox: inbox.New(inbox.Options{Store: s}), Files: files, Providers: p,
		Made: generated.Files{Workspace: files, Now: time.Now},
		Poll: 5 * time.Millisecond, Lease: lease,
	}
}

func open(t *testing.T, s *store.Store, url string, lease ...time.Duration) *shop {
	t.Helper()
	files, ctx, dir := workspacetest.New(t)
	o := options(t, s, url, files, append(lease, 0)[0])
	all := &shop{Orders: orders.New(o), tools: map[string]tool.Tool{}, dir: dir, inbox: o.Inbox}
	t.Cleanup(func() { _ = all.Close() })
	for _, one := range orders.Tools(all.Orders) {
		all.tools[one.Spec.Name] = one
	}
	caller := tool.CallerFrom(ctx)
	caller.Session, caller.Channel = "s1", "stdio"
	all.ctx = tool.With(ctx, &tool.Running{Caller: caller, Call: "call1"})
	return all
}

// call calls a tool.
func (s *shop) call(t *testing.T, name, args string) (tool.Result, error) {
	t.Helper()
	call, err := s.tools[name].Bind(json.RawMessage(args), tool.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	return call.Run(s.ctx)
}

// event waits for the event about an order.
func (s *shop) event(t *testing.T) inbox.Event {
	t.Helper()
	list, err := s.inbox.Wait(s.ctx, tool.CallerFrom(s.ctx), "call2", inbox.Filter{"media"}, time.Minute)
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

// within waits for a channel.
func within(t *testing.T, c <-chan struct{}) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		t.Fatal("nothing happened within a minute")
	}
}

// saved returns the one file that was made.
func (s *shop) saved(t *testing.T) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(s.dir, "generated", "*", "*"))
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	return list[0]
}

func field(t *testing.T, res tool.Result, name string) string {
	t.Helper()
	encoded, err := json.Marshal(res.Data)
	if err != nil {
		t.Fatal(err)
	}
	var fields object
	if err := json.Unmarshal(encoded, &fields); err != nil {
		t.Fatal(err)
	}
	text, _ := fields[name].(string)
	return text
}

func TestVideoFromAPicture(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		server := providertest.New(t)
		server.On(dashVideo, task("PENDING"))
		server.On(dashTask, task("RUNNING"), reply{Status: 500}, task("SUCCEEDED", "video_url", server.URL+"/v"))
		server.On("GET /v", reply{Body: providertest.MP4()})
		s := open(t, st, server.URL)
		if err := os.WriteFile(filepath.Join(s.dir, "fox.png"), providertest.PNG(), 0o600); err != nil {
			t.Fatal(err)
		}
		res, err := s.call(t, "create_video", `{"prompt":"A red fox!","image":"fox.png","seconds":7,"wait":600}`)
		if err != nil || res.Failed {
			t.Fatal(res.Text(), err)
		}
		file := s.saved(t)
		if data, err := os.ReadFile(file); err != nil || !bytes.Equal(data, providertest.MP4()) {
			t.Errorf("%q, %v", data, err)
		}
		if filepath.Base(file) != "a-red-fox.mp4" || !strings.Contains(res.Text(), "a-red-fox.mp4") ||
			!strings.Contains(res.Text(), "dashscope/wan2.7-t2v for about $1.05") {
			t.Errorf("%s: %s", file, res.Text())
		}
		if body := string(server.Got()[0].Body); !strings.Contains(body, `"duration":7`) ||
			!strings.Contains(body, `"type":"first_frame"`) {
			t.Error(body)
		}
		link := false
		for _, p := range res.Parts {
			link = link || strings.HasPrefix(p.URI, generated.Scheme)
		}
		if !link {
			t.Errorf("no link in %+v", res.Parts)
		}
		// The result is not told again.
		if list, err := s.inbox.Take(s.ctx, tool.CallerFrom(s.ctx), "call3", nil); err != nil || len(list) > 0 {
			t.Errorf("%v, %v", list, err)
		}
	})
}

func TestResultComesLater(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		server := providertest.New(t)
		done := make(chan struct{})
		server.On(sound, reply{Body: providertest.MP3(), Wait: done})
		s := open(t, st, server.URL)
		res, err := s.call(t, "create_audio", `{"prompt":"rain","type":"sound_effect","wait":0}`)
		if err != nil || !strings.Contains(res.Text(), "later result") {
			t.Fatal(res.Text(), err)
		}
		close(done)
		e := s.event(t)
		if e.Subject != field(t, res, "order") || !strings.Contains(e.Text, "[sound effect saved as generated/") {
			t.Errorf("%+v", e)
		}
		s.saved(t)
	})
}

// TestTasks: clients that follow tasks get one, with the result in it.
func TestTasks(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		server := providertest.New(t)
		done := make(chan struct{})
		server.On(sound, reply{Body: providertest.MP3(), Wait: done})
		s := open(t, st, server.URL)
		running := tool.RunningFrom(s.ctx)
		running.Tasks = true
		s.ctx = tool.With(s.ctx, &running)
		res, err := s.call(t, "create_audio", `{"prompt":"rain","type":"sound_effect"}`)
		if err != nil || res.Task == nil {
			t.Fatal(res.Text(), err)
		}
		close(done)
		keeper := s.tools["create_audio"].Tasks
		var followed tool.Task
		for followed.Status != tool.TaskCompleted {
			changed := st.Wait(jobs.Topic)
			if followed, err = keeper.Task(s.ctx, res.Task.ID); err != nil {
				t.Fatal(err)
			}
			if followed.Status == tool.TaskWorking {
				within(t, changed)
			}
		}
		audio := false
		for _, p := range followed.Result.Parts {
			audio = audio || p.MIME == "audio/mpeg" && len(p.Data) > 0
		}
		if !audio {
			t.Errorf("%+v", followed.Result)
		}
		other := tool.With(t.Context(), &tool.Running{Caller: tool.Caller{Agent: "other"}})
		if _, err := keeper.Task(other, res.Task.ID); tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("another caller: %v", err)
		}
		if err := keeper.CancelTask(other, res.Task.ID); tool.AsError(err).Kind != tool.NotFound {
			t.Errorf("another caller: %v", err)
		}
	})
}

// TestCancel: an order is cancelled at the provider, too.
func TestCancel(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		server := providertest.New(t)
		cancelled, asked := make(chan struct{}), make(chan struct{}, 100)
		server.On(dashVideo, task("PENDING"))
		server.On(dashTask, reply{Body: task("RUNNING").Body, Hook: func() { asked <- struct{}{} }})
		server.On(dashStop, reply{Body: object{}, Hook: func() { close(cancelled) }})
		s := open(t, st, server.URL)
		res, err := s.call(t, "create_video", `{"prompt":"a fox","wait":0}`)
		if err != nil {
			t.Fatal(err)
		}
		within(t, asked)
		id := field(t, res, "order")
		if _, err := s.call(t, "create_video", fmt.Sprintf(`{"cancel":%q}`, id)); err != nil {
			t.Fatal(err)
		}
		within(t, cancelled)
		for {
			changed := st.Wait(jobs.Topic)
			followed, err := s.tools["create_video"].Tasks.Task(s.ctx, id)
			if err != nil {
				t.Fatal(err)
			}
			if followed.Status == tool.TaskCancelled {
				break
			}
			within(t, changed)
		}
		if n := server.Count(dashVideo); n != 1 {
			t.Errorf("ordered %d times", n)
		}
	})
}

// TestFailedOrders: the result says why nothing was made.
func TestFailedOrders(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		server := providertest.New(t)
		server.On(dashVideo, task("PENDING"))
		server.On(dashTask, task("FAILED", "code", "DataInspectionFailed", "message", "inappropriate"))
		s := open(t, st, server.URL)
		res, err := s.call(t, "create_video", `{"prompt":"a fox","wait":600}`)
		if err != nil || !res.Failed || res.Kind != tool.Refused || !strings.Contains(res.Text(), "inappropriate") {
			t.Errorf("%+v, %v", res, err)
		}
		server.On(sound, reply{Status: 401, Body: object{"detail": object{"status": "invalid_api_key"}}})
		res, err = s.call(t, "create_audio", `{"prompt":"rain","type":"sound_effect","wait":600}`)
		if err != nil || !res.Failed || !strings.Contains(res.Text(), "media.providers.elevenlabs.key") {
			t.Errorf("%+v, %v", res, err)
		}
	})
}

// TestStop: when a server ends, an order goes on in the next one.
func TestStop(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		server := providertest.New(t)
		asked := make(chan struct{}, 100)
		server.On(dashVideo, task("PENDING"))
		server.On(dashTask, reply{Body: task("RUNNING").Body, Hook: func() { asked <- struct{}{} }})
		s := open(t, st, server.URL)
		if _, err := s.call(t, "create_video", `{"prompt":"a fox","wait":0}`); err != nil {
			t.Fatal(err)
		}
		within(t, asked)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		server.On(dashTask, task("SUCCEEDED", "video_url", server.URL+"/v"))
		server.On("GET /v", reply{Body: providertest.MP4()})
		next := open(t, st, server.URL)
		next.Start()
		if e := next.event(t); !strings.Contains(e.Text, "a-fox.mp4") {
			t.Errorf("%+v", e)
		}
		if n := server.Count(dashVideo); n != 1 {
			t.Errorf("ordered %d times", n)
		}
	})
}

func TestArguments(t *testing.T) {
	server := providertest.New(t)
	s := open(t, storetest.Open(t, t.TempDir()), server.URL)
	if err := os.WriteFile(filepath.Join(s.dir, "a.txt"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ name, args, says string }{
		{"create_video", `{}`, `"prompt" has 0 bytes`},
		{"create_audio", `{"prompt":" "}`, "must have 1 to"},
		{"create_audio", `{"prompt":"x","type":"podcast"}`, "use music or sound_effect"},
		{"create_audio", `{"prompt":"x","lyrics":"la","instrumental":true}`, "leave one of them out"},
		{"create_video", `{"prompt":"x","picture":"none.png"}`, "none.png"},
		{"create_video", `{"prompt":"x","picture":"a.txt"}`, "send a PNG, JPEG or WebP file"},
		{"create_video", `{"cancel":"nothing"}`, "no order"},
		{"create_video", `{"prompt":"x","model":"elevenlabs","wait":600}`, "has no video"},
	} {
		res, err := s.call(t, x.name, x.args)
		if text := fmt.Sprint(res.Text(), err); !strings.Contains(text, x.says) {
			t.Errorf("%s %s: %s", x.name, x.args, text)
		}
	}
	if len(server.Got()) > 0 {
		t.Errorf("%v", server.Got())
	}
	call, err := s.tools["create_video"].Bind(json.RawMessage(`{"prompt":"x","duration":15}`), tool.DefaultLimits())
	if err != nil {
		t.Fatal(err)
	}
	if plan, err := call.Prepare(s.ctx); err != nil || !strings.Contains(plan.Ask, "$2.25") || plan.Risk != tool.Runs {
		t.Errorf("%+v, %v", plan, err)
	}
}

// TestTooManyOrders: a caller cannot have many orders at once.
func TestTooManyOrders(t *testing.T) {
	server := providertest.New(t)
	server.On(dashVideo, task("PENDING"))
	server.On(dashTask, task("RUNNING"))
	s := open(t, storetest.Open(t, t.TempDir()), server.URL)
	for i := range 6 {
		_, err := s.call(t, "create_video", `{"prompt":"a fox","wait":0}`)
		if busy := err != nil && tool.AsError(err).Kind == tool.Busy; busy != (i == 5) {
			t.Errorf("order %d: %v", i, err)
		}
	}
}

func TestToolsThatCannotWork(t *testing.T) {
	p, err := provider.New(provider.Options{
		Endpoints: []provider.Endpoint{{Name: "elevenlabs", Kind: "elevenlabs"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range orders.Tools(orders.New(orders.Options{Providers: p})) {
		names = append(names, one.Spec.Name)
	}
	if strings.Join(names, " ") != "create_audio" {
		t.Error(names)
	}
	if n := len(orders.Tools(nil)); n != 2 {
		t.Errorf("%d tools", n)
	}
}

// shortLease is after which time another process goes on with the work of a dead one.
const shortLease = 2 * time.Second

// TestChild works on orders until it is killed.
func TestChild(t *testing.T) {
	dsn := os.Getenv("ORDERS_CHILD")
	if dsn == "" {
		t.Skip("for another test")
	}
	var at struct{ URL, Dir, Data string }
	if err := json.Unmarshal([]byte(os.Getenv("ORDERS_AT")), &at); err != nil {
		t.Fatal(err)
	}
	files, err := workspace.New(workspace.Options{Data: at.Data})
	if err != nil {
		t.Fatal(err)
	}
	o := orders.New(options(t, storetest.Open(t, dsn), at.URL, files, shortLease))
	o.Start()
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent has died
	_ = o.Close()
}

// TestKilledWorkers kills the process that works on an order: before the response to it,
// between its response and its end, and twice. A provider is asked once in any case.
func TestKilledWorkers(t *testing.T) {
	test := func(t *testing.T, dsn string) {
		t.Parallel() // it mostly waits
		for _, x := range []struct {
			name  string
			kill  string // the request at which the process is killed
			kills int
			want  string
		}{
			{"between sending and storing", dashVideo, 1, "it is not known whether it has accepted the request"},
			{"while asking", dashTask, 2, "saved as generated/"},
			{"while downloading", "GET /v", 1, "saved as generated/"},
		} {
			t.Run(x.name, func(t *testing.T) {
				st := storetest.Open(t, dsn)
				server := providertest.New(t)
				reached, never := make(chan struct{}, 100), make(chan struct{})
				hang := reply{Hook: func() { reached <- struct{}{} }, Wait: never}
				server.On(dashVideo, task("PENDING"))
				server.On(dashTask, task("RUNNING"), task("SUCCEEDED", "video_url", server.URL+"/v"))
				server.On("GET /v", reply{Body: providertest.MP4()})
				server.On(x.kill, hang)
				s := open(t, st, server.URL, shortLease)
				var out bytes.Buffer
				for kill := range x.kills {
					child := start(t, s, dsn, server.URL, &out)
					if kill == 0 {
						place(t, s, st)
					}
					within(t, reached)
					child()
				}
				if x.kill == dashTask {
					server.On(dashTask, task("SUCCEEDED", "video_url", server.URL+"/v"))
				}
				server.On("GET /v", reply{Body: providertest.MP4()})
				s.Start()
				if e := s.event(t); !strings.Contains(e.Text, x.want) {
					t.Errorf("%s\n%s", e.Text, out.String())
				}
				if n := server.Count(dashVideo); n != 1 {
					t.Errorf("ordered %d times", n)
				}
			})
		}
	}
	t.Run("sqlite", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { test(t, storetest.Database(t)) })
}

// start starts a process that works on orders, and returns a function that kills it.
func start(t *testing.T, s *shop, dsn, url string, out io.Writer) (kill func()) {
	t.Helper()
	at, err := json.Marshal(struct{ URL, Dir, Data string }{url, s.dir, t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1")
	cmd.Env = append(os.Environ(), "ORDERS_CHILD="+dsn, "ORDERS_AT="+string(at))
	cmd.Stderr = out
	if _, err := cmd.StdinPipe(); err != nil { // closed when this process ends
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(stdout)
	for lines.Scan() && lines.Text() != "ready" {
	}
	kill = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	t.Cleanup(kill)
	return kill
}

// place adds an order without working on it in this process.
func place(t *testing.T, s *shop, st *store.Store) {
	t.Helper()
	payload, err := json.Marshal(object{
		"Video": object{"Prompt": "a fox", "Seconds": 5}, "Caller": tool.CallerFrom(s.ctx), "Call": "call1",
	})
	if err != nil {
		t.Fatal(err)
	}
	q := &jobs.Queue{Store: st, Kind: "media"}
	if err := st.Update(t.Context(), func(tx *store.Tx) error {
		_, _, err := q.Enqueue(tx, jobs.New{
			Owner: tool.CallerFrom(s.ctx).Key(), Payload: string(payload), Attempts: 100,
		})
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
