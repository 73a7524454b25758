package orders

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/inbox"
	"github.com/mcp-tools/mcp-tools/internal/jobs"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

const (
	group = "media_gen"

	defaultWait = 45 // seconds, less than clients wait for a result
	maxWait     = 600
	// progressEvery is the time between two reports to a client that waits.
	progressEvery = 5 * time.Second
	pollEvery     = 3 * time.Second
	maxPrompt     = 20_000
	maxShown      = 1 << 20 // bytes of sound in a result
)

// Tools lists the tools. Without orders it lists all tools; else the tools that providers
// support.
func Tools(o *Orders) (all []tool.Tool) {
	if o == nil || o.Providers.Can(wire.Sound) || o.Providers.Can(wire.Music) {
		all = append(all, tool.Prepared(createAudio{follower{o}}))
	}
	if o == nil || o.Providers.Can(wire.Video) {
		all = append(all, tool.Prepared(createVideo{follower{o}}))
	}
	return all
}

// createAudio has sound effects and music made.
type createAudio struct{ follower }

type createAudioArgs struct {
	Prompt       string  `json:"prompt,omitempty" jsonschema:"sound in words" alias:"text,description" maxlen:"20000"`
	Type         string  `json:"type,omitempty" jsonschema:"music (default) or sound_effect" alias:"kind"`
	Duration     float64 `json:"duration,omitempty" jsonschema:"length in seconds" alias:"seconds,duration_seconds,length"`
	Lyrics       string  `json:"lyrics,omitempty" jsonschema:"text to sing, with [Verse]" maxlen:"20000"`
	Instrumental bool    `json:"instrumental,omitempty" jsonschema:"music without voices"`

	Loop   bool   `json:"loop,omitempty" jsonschema:"whether the effect can be repeated without a gap" hidden:"true"`
	Model  string `json:"model,omitempty" jsonschema:"provider, or PROVIDER/MODEL" alias:"provider" hidden:"true"`
	Wait   *int   `json:"wait,omitempty" jsonschema:"seconds to wait for it" hidden:"true" min:"0" max:"600"`
	Cancel string `json:"cancel,omitempty" jsonschema:"order to cancel" hidden:"true"`
}

func (createAudio) Spec() tool.Spec {
	return tool.Spec{
		Name: "create_audio", Group: group, Title: "Create music and sound", Risk: tool.Runs,
		Hints: tool.Hints{OpenWorld: true},
		Doc: "Has music or a sound effect made. " +
			"The file may come with a later result: do not poll. For speech: tts.",
		Also:    []string{"music_generate", "sound_generate"},
		Means:   map[string]string{"sound_generate": `{"type":"sound_effect"}`},
		Bare:    "prompt",
		Timeout: maxWait*time.Second + 30*time.Second, Output: answer{},
		Keywords: "song generate",
	}
}

func (t createAudio) Prepare(_ context.Context, a createAudioArgs) (tool.Plan, error) {
	if a.Cancel != "" {
		return t.cancelling(a.Cancel), nil
	}
	if err := checkPrompt("create_audio", a.Prompt, "rain on a tin roof"); err != nil {
		return tool.Plan{Risk: tool.Reads}, err
	}
	to := wire.To{Model: a.Model}
	var w Wish
	switch a.Type {
	case "", "music", "song":
		if a.Lyrics != "" && a.Instrumental {
			return tool.Plan{Risk: tool.Reads}, tool.Errorf(tool.Invalid, "there are lyrics, and instrumental is true").
				Try("leave one of them out")
		}
		w.Music = &wire.MusicRequest{
			To: to, Prompt: a.Prompt, Lyrics: a.Lyrics, Instrumental: a.Instrumental, Seconds: clamp(a.Duration, 600),
		}
	case "sound_effect", "sound", "effect", "sfx":
		w.Sound = &wire.SoundRequest{To: to, Prompt: a.Prompt, Seconds: min(max(a.Duration, 0), 30), Loop: a.Loop}
	default:
		return tool.Plan{Risk: tool.Reads}, tool.Errorf(tool.Invalid, "type is %q", a.Type).
			Try("use music or sound_effect")
	}
	return t.placing(w, a.Wait), nil
}

// createVideo has videos made.
type createVideo struct{ follower }

type createVideoArgs struct {
	Prompt   string `json:"prompt,omitempty" jsonschema:"scene in words" alias:"text,description" maxlen:"20000"`
	Picture  string `json:"picture,omitempty" jsonschema:"path of the first frame" alias:"image,image_path,first_frame,path"`
	Duration int    `json:"duration,omitempty" jsonschema:"seconds, default 6" alias:"seconds,duration_seconds,length"`
	Aspect   string `json:"aspect_ratio,omitempty" jsonschema:"16:9 (default) or 9:16" alias:"aspectRatio,ratio"`

	Resolution string `json:"resolution,omitempty" jsonschema:"such as 1080p, default 720p" hidden:"true"`

	Model  string `json:"model,omitempty" jsonschema:"provider, or PROVIDER/MODEL" alias:"provider" hidden:"true"`
	Wait   *int   `json:"wait,omitempty" jsonschema:"seconds to wait for it" hidden:"true" min:"0" max:"600"`
	Cancel string `json:"cancel,omitempty" jsonschema:"order to cancel" hidden:"true"`
}

const defaultVideo = 6 // seconds

func (createVideo) Spec() tool.Spec {
	return tool.Spec{
		Name: "create_video", Group: group, Title: "Create video", Risk: tool.Runs, Hints: tool.Hints{OpenWorld: true},
		Doc: "Has a short video made from text or a picture. " +
			"The file comes with a later result, in minutes: do not poll.",
		Also: []string{"video_generate"}, Bare: "prompt",
		Timeout: maxWait*time.Second + 30*time.Second, Output: answer{},
		Keywords: "film animate",
	}
}

func (t createVideo) Prepare(_ context.Context, a createVideoArgs) (tool.Plan, error) {
	if a.Cancel != "" {
		return t.cancelling(a.Cancel), nil
	}
	if err := checkPrompt("create_video", a.Prompt, "a red fox in the snow"); err != nil {
		return tool.Plan{Risk: tool.Reads}, err
	}
	return t.placing(Wish{Picture: a.Picture, Video: &wire.VideoRequest{
		To: wire.To{Model: a.Model}, Prompt: a.Prompt, Seconds: cmp.Or(clamp(float64(a.Duration), 60), defaultVideo),
		Aspect: cmp.Or(a.Aspect, "16:9"), Resolution: a.Resolution,
	}}, a.Wait), nil
}

// clamp returns a number of seconds of at most most.
func clamp(seconds float64, most int) int { return int(min(max(seconds+0.5, 0), float64(most))) }

func checkPrompt(name, prompt, example string) error {
	if strings.TrimSpace(prompt) == "" || len(prompt) > maxPrompt {
		return tool.Errorf(tool.Invalid, `%s: "prompt" has %d bytes, it must have 1 to %d`, name, len(prompt),
			maxPrompt).
			Try(`send {"prompt":"%s"}`, example)
	}
	return nil
}

// A follower places and follows orders for the tools, also as tasks.
type follower struct{ orders *Orders }

// placing is the plan of an order.
func (t follower) placing(w Wish, wait *int) tool.Plan {
	plan := tool.Plan{
		Risk: tool.Writes, Why: "a provider makes it, and bills it",
		Run: func(ctx context.Context) (tool.Result, error) { return t.place(ctx, w, wait) },
	}
	if t.orders != nil {
		if plan.Ask = t.orders.Providers.Ask(w.request()); plan.Ask != "" {
			plan.Risk, plan.Why, plan.Once = tool.Runs, plan.Ask, true // money that is spent does not come back
		}
	}
	return plan
}

func (t follower) cancelling(id string) tool.Plan {
	return tool.Plan{Risk: tool.Writes, Why: "it cancels an order",
		Run: func(ctx context.Context) (tool.Result, error) {
			k, err := t.orders.cancel(ctx, tool.CallerFrom(ctx), id)
			if err != nil {
				return tool.Result{}, err
			}
			if !k.State.Final() {
				return tool.Textf("The order %s is being cancelled.", k.ID).With(k.data()), nil
			}
			return tool.Text(k.report()).With(k.data()), nil
		}}
}

// place orders something and waits for it for a while.
func (t follower) place(ctx context.Context, w Wish, wait *int) (tool.Result, error) {
	o, running := t.orders, tool.RunningFrom(ctx)
	id, err := o.Place(ctx, w)
	if err != nil {
		return tool.Result{}, err
	}
	seconds := defaultWait
	switch {
	case wait != nil:
		seconds = *wait
	case running.Tasks:
		seconds = 0
	case running.Caller.Key() == "": // no session could get the result later
		seconds = maxWait
	}
	k, err := o.await(ctx, id, time.Duration(seconds)*time.Second)
	if err != nil {
		return tool.Result{}, err
	}
	if !k.State.Final() {
		res := tool.Text(k.report() +
			"\nIt comes with a later result of yours: go on with other work. To cancel it: {" +
			fmt.Sprintf("%q:%q}.", "cancel", k.ID)).With(k.data())
		if running.Tasks {
			followed := k.followed()
			followed.Message = "" // the text of the result says more
			res = res.WithTask(followed)
		}
		return res, nil
	}
	return o.result(ctx, k), nil
}

// await waits until an order has ended, or until the time is over.
func (o *Orders) await(ctx context.Context, id string, limit time.Duration) (kept, error) {
	c := tool.CallerFrom(ctx)
	over := time.NewTimer(limit)
	defer over.Stop()
	progress := time.NewTicker(progressEvery)
	defer progress.Stop()
	begun := time.Now()
	tool.Idle(ctx)
	for last := false; ; {
		changed := o.Store.Wait(jobs.Topic)
		k, err := o.get(ctx, c, id)
		if err != nil || k.State.Final() || last {
			return k, err
		}
		select {
		case <-changed:
		case <-progress.C:
			tool.Progress(ctx, time.Since(begun).Seconds(), 0, cmp.Or(k.Message, string(k.State)))
		case <-over.C:
			last = true
		case <-ctx.Done(): // the order goes on
			return k, context.Cause(ctx)
		}
	}
}

// result returns the state of an order that has ended, and takes the event about it.
func (o *Orders) result(ctx context.Context, k kept) tool.Result {
	running := tool.RunningFrom(ctx)
	if running.Caller.Key() != "" {
		if _, err := o.Inbox.Take(ctx, running.Caller, running.Call, inbox.Filter{k.ID}); err != nil {
			o.Log.Warn("the result of an order may be delivered twice", "err", err)
		}
	}
	res := tool.Text(k.report()).With(k.data())
	if k.State != jobs.Done {
		res.Failed, res.Kind = true, kindOf(k.Reason)
		return res
	}
	for _, f := range k.product.Files {
		res = res.Add(f.Parts(ctx)...)
		if f.Size > maxShown || !strings.HasPrefix(f.MIME, "audio/") {
			continue
		}
		if part, err := o.Made.Resource(ctx, f.URI); err == nil { // it may have been moved since
			res = res.Add(tool.Part{Data: part.Data, MIME: part.MIME})
		}
	}
	return res
}

// kindOf returns the kind at the beginning of the reason of a failed order.
func kindOf(reason string) tool.Kind {
	for _, kind := range tool.Kinds() {
		if strings.HasPrefix(reason, string(kind)+": ") {
			return kind
		}
	}
	return tool.Unavailable
}

// followed returns an order as a task, without its result. A failed order is a
// completed task: its result has the reason.
func (k kept) followed() tool.Task {
	t := tool.Task{
		ID: k.ID, Status: tool.TaskWorking, Message: cmp.Or(k.Message, string(k.State)), Created: k.Created,
		Changed: k.Ended, Keep: limit + keep, Poll: pollEvery,
	}
	switch k.State {
	case jobs.Done, jobs.Failed:
		t.Status = tool.TaskCompleted
	case jobs.Cancelled:
		t.Status = tool.TaskCancelled
	}
	return t
}

// Task returns an order of the caller, with its result when it has ended.
func (t follower) Task(ctx context.Context, id string) (tool.Task, error) {
	k, err := t.orders.get(ctx, tool.CallerFrom(ctx), id)
	if err != nil {
		return tool.Task{}, err
	}
	followed := k.followed()
	if followed.Status == tool.TaskCompleted {
		followed.Result = t.orders.result(ctx, k)
	}
	return followed, nil
}

// CancelTask ends an order.
func (t follower) CancelTask(ctx context.Context, id string) error {
	_, err := t.orders.cancel(ctx, tool.CallerFrom(ctx), id)
	return err
}

// AnswerTask does nothing: orders ask clients nothing.
func (t follower) AnswerTask(ctx context.Context, id string, _ map[string]json.RawMessage) error {
	_, err := t.orders.get(ctx, tool.CallerFrom(ctx), id)
	return err
}
