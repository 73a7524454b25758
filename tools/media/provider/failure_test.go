package provider_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/llm"
	"github.com/mcp-tools/mcp-tools/internal/tool"
	"github.com/mcp-tools/mcp-tools/tools/media/provider"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/providertest"
	"github.com/mcp-tools/mcp-tools/tools/media/provider/wire"
)

// A trouble is a failure as a provider reports it.
type trouble struct {
	name    string
	kind    provider.Kind
	request wire.Request
	what    string // the request that fails
	reply   reply
	reason  wire.Reason
	says    string // part of the message
	times   int    // how often it is sent; 0 is once
}

var (
	photo = wire.PhotoRequest{Prompt: "a fox"}
	film  = wire.VideoRequest{Prompt: "a fox"}
	noise = wire.SoundRequest{Prompt: "rain"}
	song  = wire.MusicRequest{Prompt: "jazz"}
)

const (
	openaiPhoto  = "POST /v1/images/generations"
	geminiPhoto  = "POST /v1beta/models/gemini-3.1-flash-image:generateContent"
	minimaxPhoto = "POST /v1/image_generation"
	minimaxVideo = "POST /v1/video_generation"
	dashPhoto    = "POST /api/v1/services/aigc/multimodal-generation/generation"
	dashVideo    = "POST /api/v1/services/aigc/video-generation/video-synthesis"
	routerVideo  = "POST /api/v1/videos"
	elevenSound  = "POST /v1/sound-generation"
)

func failWith(status int, body any) reply { return reply{Status: status, Body: body} }

func openaiError(code, message string) object {
	return object{"error": object{"code": code, "message": message, "type": "invalid_request_error"}}
}

func troubles() []trouble {
	minimax := func(code int, message string) reply {
		return reply{Body: object{"base_resp": object{"status_code": code, "status_msg": message}}}
	}
	return []trouble{
		{"gone", "openai", photo, openaiPhoto,
			failWith(404, openaiError("model_not_found", "The model `x` does not exist")),
			wire.Gone, "does not exist", 1},
		{"gone with 400", "openai", photo, openaiPhoto,
			failWith(400, openaiError("", "The model 'dall-e-3' has been deprecated")),
			wire.Gone, "deprecated", 1},
		{"no key", "openai", photo, openaiPhoto,
			failWith(401, openaiError("invalid_api_key", "Incorrect API key provided: "+key)), wire.NoKey,
			"provided: ...", 1},
		{"unpaid", "openai", photo, openaiPhoto,
			failWith(429, openaiError("insufficient_quota", "You exceeded your current quota")), wire.Unpaid, "quota",
			1},
		{"busy", "openai", photo, openaiPhoto, reply{Status: 429, Header: map[string]string{"Retry-After": "7"}},
			wire.Busy, "status 429", 3},
		{"busy for long", "openai", photo, openaiPhoto,
			reply{Status: 429, Header: map[string]string{"Retry-After": "3600"}}, wire.Busy, "429", 1},
		{"down", "openai", photo, openaiPhoto, failWith(503, "<html>"), wire.Down, "status 503", 3},
		{"never", "openai", photo, openaiPhoto, failWith(501, ""), wire.Down, "501", 1},
		{"late", "openai", photo, openaiPhoto, failWith(408, ""), wire.Late, "408", 3},
		{"content", "openai", photo, openaiPhoto,
			failWith(400, openaiError("moderation_blocked", "Your request was rejected by the safety system")),
			wire.Content, "safety", 1},
		{"invalid", "openai", photo, openaiPhoto, failWith(400, openaiError("", "size is too large")),
			wire.Invalid, "too large", 1},
		{"redirect", "openai", photo, openaiPhoto,
			reply{Status: 302, Header: map[string]string{"Location": "{{url}}/elsewhere"}}, wire.Down, "redirects", 1},
		{"not JSON", "openai", photo, openaiPhoto,
			reply{Body: "<html>", Header: map[string]string{"Content-Type": "text/html"}},
			wire.Unreadable, "text/html", 1},
		{"cut off", "openai", photo, openaiPhoto, reply{Body: `{"data":[{"b64`, Length: 1000}, wire.Unknown, "", 1},
		{"a page instead of a picture", "openai", photo, openaiPhoto,
			reply{Body: object{"data": list{object{"b64_json": b64([]byte("<html>no</html>"))}}}}, wire.Unreadable,
			"text/plain", 1},
		{"half of base64", "openai", photo, openaiPhoto,
			reply{Body: object{"data": list{object{"b64_json": "iVBORw0KG"}}}}, wire.Unreadable, "not complete", 1},
		{"no picture", "openai", photo, openaiPhoto, reply{Body: object{"data": list{}}}, wire.Unreadable,
			"no file", 1},
		{"too large", "openai", photo, openaiPhoto, reply{Body: "x", Length: 300 << 20}, wire.Unreadable,
			"larger than 210 MB", 1},
		{"no connection", "openai", photo, openaiPhoto, reply{Break: true}, wire.Unknown, "", 1},
		{"long message", "openai", photo, openaiPhoto,
			failWith(400, openaiError("", strings.Repeat("long ", 1000))), wire.Invalid,
			"…", 1},

		{"no key", "gemini", photo, geminiPhoto, failWith(400, list{object{"error": object{
			"code": 400, "message": "API key not valid. Please pass a valid API key.", "status": "INVALID_ARGUMENT",
		}}}), wire.NoKey, "not valid", 1},
		{"gone", "gemini", photo, geminiPhoto, failWith(404, object{"error": object{
			"code": 404, "message": "models/x is not found for API version v1beta", "status": "NOT_FOUND",
		}}), wire.Gone, "not found", 1},
		{"prompt blocked", "gemini", photo, geminiPhoto,
			reply{Body: object{"promptFeedback": object{"blockReason": "SAFETY"}}},
			wire.Content, "SAFETY", 1},
		{"picture blocked", "gemini", photo, geminiPhoto,
			reply{Body: object{"candidates": list{object{"finishReason": "IMAGE_SAFETY"}}}}, wire.Content,
			"IMAGE_SAFETY", 1},
		{"text instead of a picture", "gemini", photo, geminiPhoto, reply{Body: object{"candidates": list{object{
			"content": object{"parts": list{object{"text": "I would rather not."}}},
		}}}}, wire.Down, "rather not", 1},

		{"unpaid", "minimax", photo, minimaxPhoto, minimax(1008, "insufficient balance"), wire.Unpaid, "balance",
			1},
		{"no key", "minimax", photo, minimaxPhoto, minimax(2049, "invalid api key"), wire.NoKey, "2049", 1},
		{"busy", "minimax", photo, minimaxPhoto, minimax(1002, "rate limit"), wire.Busy, "1002", 3},
		{"content", "minimax", photo, minimaxPhoto, minimax(1026, "input new_sensitive"), wire.Content, "1026",
			1},
		{"invalid", "minimax", photo, minimaxPhoto, minimax(2013, "invalid params"), wire.Invalid, "2013", 1},
		{"busy order", "minimax", film, minimaxVideo, minimax(1002, "rate limit"), wire.Busy, "1002", 3},
		{"failed order", "minimax", song, "POST /v1/music_generation", minimax(1000, "unknown error"), wire.Down,
			"1000", 1},

		{"content", "dashscope", photo, dashPhoto,
			failWith(400, object{"code": "DataInspectionFailed",
				"message": "Input data may contain inappropriate content."}),
			wire.Content, "inappropriate", 1},
		{"unpaid", "dashscope", photo, dashPhoto,
			failWith(400, object{"code": "Arrearage", "message": "Access denied"}),
			wire.Unpaid, "denied", 1},
		{"busy", "dashscope", photo, dashPhoto,
			failWith(429, object{"code": "Throttling.RateQuota", "message": "Requests rate limit"}),
			wire.Busy, "limit", 3},
		{"gone", "dashscope", film, dashVideo,
			failWith(404, object{"code": "ModelNotFound", "message": "Model not exist."}),
			wire.Gone, "not exist", 1},

		{"unpaid", "openrouter", film, routerVideo,
			failWith(402, object{"error": object{"code": 402, "message": "Insufficient credits"}}),
			wire.Unpaid, "credits", 1},
		{"order in an unknown state", "openrouter", film, routerVideo, failWith(504, ""), wire.Unknown, "504",
			1},
		{"order without an answer", "openrouter", film, routerVideo, reply{Break: true}, wire.Unknown, "", 1},
		{"order with half an answer", "openrouter", film, routerVideo, reply{Body: `{"id":"v1"`, Length: 999},
			wire.Unknown, "", 1},
		{"order with another answer", "openrouter", film, routerVideo, reply{Body: "<html>"}, wire.Unknown, "",
			1},
		{"order without an id", "openrouter", film, routerVideo, reply{Body: object{"status": "pending"}},
			wire.Unknown, "no id", 1},
		{"down before an order", "openrouter", film, routerVideo, failWith(503, ""), wire.Down, "503", 3},
		{"down during an order", "openrouter", film, routerVideo, failWith(500, ""), wire.Down, "500", 1},

		{"invalid", "fal", film, "POST /fal-ai/minimax/hailuo-2.3/standard/text-to-video",
			failWith(422, object{"detail": list{object{"msg": "field required", "type": "missing"}}}), wire.Invalid,
			"field required", 1},
		{"unpaid", "fal", film, "POST /fal-ai/minimax/hailuo-2.3/standard/text-to-video",
			failWith(403, object{"detail": "User is locked. Reason: Exhausted balance: insufficient"}), wire.Unpaid,
			"locked", 1},
		{"content", "fal", film, "POST /fal-ai/minimax/hailuo-2.3/standard/text-to-video",
			failWith(422, object{"detail": list{object{"msg": "flagged by a content checker",
				"type": "content_policy_violation"}}}),
			wire.Content, "flagged", 1},

		{"unpaid", "elevenlabs", noise, elevenSound,
			failWith(401, object{"detail": object{"status": "quota_exceeded",
				"message": "This request exceeds your quota"}}),
			wire.Unpaid, "exceeds", 1},
		{"no key", "elevenlabs", noise, elevenSound,
			failWith(401, object{"detail": object{"status": "invalid_api_key", "message": "Invalid API key"}}),
			wire.NoKey, "Invalid", 1},
		{"JSON instead of sound", "elevenlabs", noise, elevenSound, reply{Body: object{"message": "done"}},
			wire.Unknown,
			"text/plain", 1},
	}
}

// TestFailures has each provider fail in the ways that it documents.
func TestFailures(t *testing.T) {
	for _, x := range troubles() {
		t.Run(string(x.kind)+"/"+x.name, func(t *testing.T) {
			s := providertest.New(t)
			s.On(x.what, x.reply)
			_, by, err := do(t.Context(), open(t, s, x.kind, paths[x.kind]), x.request)
			var f *wire.Failure
			if !errors.As(err, &f) {
				t.Fatalf("no failure: %v (%+v)", err, by)
			}
			if f.Reason != x.reason || !strings.Contains(err.Error(), x.says) {
				t.Errorf("%q: %v", f.Reason, err)
			}
			if strings.Contains(err.Error(), key) || len(f.Message) > 500 {
				t.Errorf("the message has the key or is too long: %v", err)
			}
			if n := s.Count(x.what); n != x.times || len(s.Got()) != n {
				t.Errorf("sent %d times, not %d: %v", n, x.times, s.Got())
			}
		})
	}
}

// TestOrdersThatFail has orders fail after they were accepted.
func TestOrdersThatFail(t *testing.T) {
	for _, x := range []struct {
		kind   provider.Kind
		accept map[string]reply
		check  string
		reply  reply
		reason wire.Reason
		says   string
	}{
		{"minimax", map[string]reply{minimaxVideo: {Body: object{"task_id": "t1"}}},
			"GET /v1/query/video_generation",
			reply{Body: object{"status": "Fail", "base_resp": object{"status_code": 0, "status_msg": "no luck"}}},
			wire.Down, "no luck"},
		{"minimax", map[string]reply{minimaxVideo: {Body: object{"task_id": "t1"}}},
			"GET /v1/query/video_generation",
			reply{Body: object{"status": "Fail", "base_resp": object{"status_code": 1027, "status_msg": "output"}}},
			wire.Content, "output"},
		{"dashscope", map[string]reply{dashVideo: {Body: object{"output": object{"task_id": "t1"}}}},
			"GET /api/v1/tasks/t1",
			reply{Body: object{"output": object{"task_status": "FAILED", "code": "InternalError.Algo",
				"message": "no luck"}}}, wire.Down,
			"no luck"},
		{"dashscope", map[string]reply{dashVideo: {Body: object{"output": object{"task_id": "t1"}}}},
			"GET /api/v1/tasks/t1",
			reply{Body: object{"output": object{"task_status": "UNKNOWN"}}}, wire.Down, "UNKNOWN"},
		{"openrouter", map[string]reply{routerVideo: {Body: object{"id": "v1"}}}, "GET /api/v1/videos/v1",
			reply{Body: object{"status": "failed", "error": "no luck"}}, wire.Down, "no luck"},
		{"openrouter", map[string]reply{routerVideo: {Body: object{"id": "v1"}}}, "GET /api/v1/videos/v1",
			reply{Body: object{"status": "expired"}}, wire.Down, "expired"},
		{"gemini", map[string]reply{"POST /v1beta/interactions": {Body: object{"id": "i1"}}},
			"GET /v1beta/interactions/i1",
			reply{Body: object{"status": "failed", "error": object{"message": "no luck"}}}, wire.Down, "no luck"},
	} {
		s := providertest.New(t)
		for what, r := range x.accept {
			s.On(what, r)
		}
		s.On(x.check, x.reply)
		_, _, err := order(t.Context(), open(t, s, x.kind, paths[x.kind]), film)
		var f *wire.Failure
		if !errors.As(err, &f) || f.Reason != x.reason || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v", x.kind, err)
		}
	}
}

// two returns two providers: OpenAI's format at one address, MiniMax at another.
func two(t *testing.T, first, second *providertest.Server, change ...func(*provider.Options)) *provider.Providers {
	t.Helper()
	return open(t, first, "openai", "/v1", append(change, func(o *provider.Options) {
		o.Endpoints = append(o.Endpoints, provider.Endpoint{Name: "minimax", Kind: "minimax", URL: second.URL +
			"/v1", Key: key})
		o.Chains = map[wire.Task][]string{wire.Photo: {"openai", "minimax"}}
		o.API = providertest.Client(t, first, second)
	})...)
}

func TestTheNextOneIsAsked(t *testing.T) {
	good := reply{Body: object{"data": object{"image_base64": list{b64(providertest.PNG())}}}}
	for _, x := range []struct {
		name  string
		reply reply
		next  bool
	}{
		{"gone", failWith(404, openaiError("model_not_found", "")), true},
		{"busy", failWith(429, ""), true},
		{"down", failWith(500, ""), true},
		{"late", failWith(408, ""), true},
		{"no key", failWith(401, ""), true},
		{"unpaid", failWith(402, ""), true},
		{"the response is lost", reply{Break: true}, false},
		{"content", failWith(400, openaiError("content_policy_violation", "no")), false},
	} {
		first, second := providertest.New(t), providertest.New(t)
		first.On(openaiPhoto, x.reply)
		second.On(minimaxPhoto, good)
		files, by, err := two(t, first, second).Photo(t.Context(), photo)
		switch {
		case x.next && (err != nil || len(files) != 1 || by.Model != "minimax/image-01" || len(by.Notes) != 1 ||
			!strings.Contains(by.Notes[0], "openai/gpt-image-2.6-flare did not answer")):
			t.Errorf("%s: %+v, %v", x.name, by, err)
		case !x.next && (err == nil || len(second.Got()) > 0):
			t.Errorf("%s: the next one was asked, too: %v", x.name, err)
		}
	}
}

func TestAllFail(t *testing.T) {
	first, second := providertest.New(t), providertest.New(t)
	first.On(openaiPhoto, failWith(404, openaiError("model_not_found", "the first is gone")))
	second.On(minimaxPhoto, failWith(500, ""))
	_, _, err := two(t, first, second).Photo(t.Context(), photo)
	if err == nil || !strings.Contains(err.Error(), "the first is gone") ||
		!strings.Contains(err.Error(), "status 500") {
		t.Error(err)
	}
}

// TestNamedProvider: if a caller names a provider, no other one is asked.
func TestNamedProvider(t *testing.T) {
	first, second := providertest.New(t), providertest.New(t)
	second.On(minimaxPhoto, failWith(500, ""))
	p := two(t, first, second)
	for _, name := range []string{"minimax", "minimax/image-01", "image-01"} {
		if _, _, err := p.Photo(t.Context(), wire.PhotoRequest{To: wire.To{Model: name}, Prompt: "x"}); err == nil {
			t.Errorf("%s has answered", name)
		}
	}
	if n := len(first.Got()); n > 0 {
		t.Errorf("%d requests to the other provider", n)
	}
	_, _, err := p.Photo(t.Context(), wire.PhotoRequest{To: wire.To{Model: "nobody"}, Prompt: "x"})
	if tool.AsError(err).Kind != tool.NotFound {
		t.Error(err)
	}
	if _, _, err := (*provider.Providers)(nil).Photo(t.Context(), photo); tool.AsError(err).Kind != tool.Unavailable {
		t.Error(err)
	}
}

func TestArgumentsThatAreNotHeeded(t *testing.T) {
	for _, x := range exchanges() {
		want := map[provider.Kind]string{
			"openai": "openai/gpt-4o-mini-tts has no language; it was not heeded",
			"gemini": "gemini/gemini-3.8-flash-tts has no speed and no language; it was not heeded",
			"minimax": "minimax/speech-2.8-hd has no language and no style and no format opus; " +
				"it was not heeded",
		}[x.kind]
		s := providertest.New(t)
		for what, replies := range x.replies {
			s.On(what, replies...)
		}
		var by provider.By
		var err error
		switch {
		case x.name == "speech" && want != "":
			_, by, err = open(t, s, x.kind, paths[x.kind]).Speak(t.Context(), wire.SpeechRequest{Text: "hello", Speed: 2,
				Language: "de", Style: "slowly", Format: "opus"})
		case x.name == "transcription" && x.kind == "openai":
			want = "does not tell speakers apart"
			r := x.request.(wire.TranscriptionRequest)
			r.Speakers = true
			_, by, err = open(t, s, x.kind, paths[x.kind]).Transcribe(t.Context(), r)
		default:
			continue
		}
		if err != nil || len(by.Notes) != 1 || !strings.HasSuffix(by.Notes[0], want) {
			t.Errorf("%s, %s: %q, %v, want %q", x.kind, x.name, by.Notes, err, want)
		}
	}
}

func TestBudgets(t *testing.T) {
	type held struct {
		model string
		price llm.Money
	}
	var holds []held
	var used []llm.Money
	refuse := false
	first, second := providertest.New(t), providertest.New(t)
	first.On(openaiPhoto, failWith(404, ""))
	second.On(minimaxPhoto, reply{Body: object{"data": object{"image_base64": list{b64(providertest.PNG())}}}})
	p := two(t, first, second, func(o *provider.Options) {
		o.Hold = func(_ context.Context, model string, price llm.Money, known bool) (func(llm.Money), error) {
			if refuse || !known {
				return nil, tool.Errorf(tool.Refused, "the budget is used up")
			}
			holds = append(holds, held{model, price})
			return func(m llm.Money) { used = append(used, m) }, nil
		}
	})
	r := wire.PhotoRequest{Prompt: "x", Count: 2}
	if _, by, err := p.Photo(t.Context(), r); err != nil || by.Cost != 7000 {
		t.Errorf("%+v, %v", by, err)
	}
	if len(holds) != 2 || holds[0] != (held{"openai/gpt-image-2.6-flare", 160_000}) ||
		holds[1] != (held{"minimax/image-01", 7000}) ||
		len(used) != 2 || used[0] != 0 || used[1] != 7000 {
		t.Errorf("held %v, used %v", holds, used)
	}
	refuse = true
	before := len(first.Got())
	if _, _, err := p.Photo(t.Context(), r); tool.AsError(err).Kind != tool.Refused || len(first.Got()) != before {
		t.Errorf("a request without a budget: %v", err)
	}
}

func TestAskBecauseOfThePrice(t *testing.T) {
	s := providertest.New(t)
	p := open(t, s, "dashscope", "", func(o *provider.Options) { o.AskAbove = 500_000 })
	for seconds, asks := range map[int]bool{2: false, 15: true} {
		got := p.Ask(wire.VideoRequest{Prompt: "x", Seconds: seconds})
		if (got != "") != asks || asks && got != "video for up to $2.25 (dashscope/wan2.7-t2v)" {
			t.Errorf("%d seconds: %q", seconds, got)
		}
	}
	if got := p.Ask(wire.VideoRequest{To: wire.To{Model: "dashscope/new-model"}}); !strings.Contains(got, "not known") {
		t.Errorf("%q", got)
	}
}

// TestSecretsAreNotSent: what is sent is scrubbed.
func TestSecretsAreNotSent(t *testing.T) {
	s := providertest.New(t)
	s.On(openaiPhoto, failWith(500, ""))
	p := open(t, s, "openai", "/v1", func(o *provider.Options) {
		o.Scrub = func(text string) string { return strings.ReplaceAll(text, "hunter2", "[REDACTED]") }
	})
	_, _, _ = p.Photo(t.Context(), wire.PhotoRequest{Prompt: "the word hunter2"}) // it fails
	if got := s.Got(); len(got) == 0 || strings.Contains(string(got[0].Body), "hunter2") {
		t.Errorf("%v", got)
	}
}

// TestUploads: files that are too large for a request are uploaded, and removed afterwards.
func TestUploads(t *testing.T) {
	large := wire.File{MIME: "video/mp4", Data: make([]byte, 71<<20)}
	s := providertest.New(t)
	s.On("POST /upload/v1beta/files",
		reply{Header: map[string]string{"X-Goog-Upload-Url": "{{url}}/upload/session?id=1"}})
	s.On("POST /upload/session", reply{Body: object{"file": object{"name": "files/f1", "uri": "u",
		"state": "PROCESSING"}}})
	s.On("GET /v1beta/files/f1", reply{Body: object{"name": "files/f1", "uri": "u", "state": "PROCESSING"}},
		reply{Body: object{"name": "files/f1", "uri": "https://files/f1", "state": "ACTIVE"}})
	s.On("POST /v1beta/models/gemini-3.8-flash:generateContent",
		reply{Body: object{"candidates": list{object{"content": object{"parts": list{object{"text": "a fox"}}}}}}})
	s.On("DELETE /v1beta/files/f1", reply{})
	words, _, err := open(t, s, "gemini", "/v1beta").Describe(t.Context(),
		wire.DescriptionRequest{Prompt: "what?", Files: []wire.File{large}})
	if err != nil || words != "a fox" {
		t.Fatal(words, err)
	}
	var order []string
	for _, r := range s.Got() {
		order = append(order, r.Method+" "+r.Path)
		if r.Header.Get("X-Goog-Upload-Command") == "start" &&
			r.Header.Get("X-Goog-Upload-Header-Content-Length") != "74448896" {
			t.Errorf("%v", r.Header)
		}
		if strings.HasSuffix(r.Path, ":generateContent") &&
			!strings.Contains(string(r.Body), `"fileUri":"https://files/f1"`) {
			t.Errorf("%s", r.Body)
		}
	}
	if got := strings.Join(order,
		" "); got != "POST /upload/v1beta/files POST /upload/session?id=1 GET /v1beta/files/f1 "+
		"GET /v1beta/files/f1 POST /v1beta/models/gemini-3.8-flash:generateContent DELETE /v1beta/files/f1" {
		t.Error(got)
	}
}

// TestTable reads each row, and that the providers can do what it says.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range provider.Table() {
		name := string(row.Task) + " " + string(row.Kind) + " " + row.Model
		if seen[name] || row.Price <= 0 {
			t.Errorf("%s is there twice, or has no price", name)
		}
		seen[name] = true
		s := providertest.New(t)
		_, err := provider.New(provider.Options{
			Endpoints: []provider.Endpoint{{Name: "x", Kind: row.Kind, URL: s.URL}},
			Chains:    map[wire.Task][]string{row.Task: {"x/" + row.Model}},
		})
		if err != nil && !row.Ended(time.Date(2026, 11, 23, 0, 0, 0, 0, time.UTC)) {
			t.Error(err)
		}
	}
}

// TestModelsEnd: what has ended is not a default, but an operator can still name it.
func TestModelsEnd(t *testing.T) {
	s := providertest.New(t)
	at := func(day string, named bool) []string {
		p := open(t, s, "gemini", "/v1beta", func(o *provider.Options) {
			now, err := time.Parse(time.DateOnly, day)
			if err != nil {
				t.Fatal(err)
			}
			o.Now = func() time.Time { return now }
			o.Endpoints = append(o.Endpoints, provider.Endpoint{Name: "real", Kind: "openai", Key: key})
			if named {
				o.Chains = map[wire.Task][]string{wire.Speech: {"real", "gemini"}}
			}
		})
		return p.Chain(wire.Speech)
	}
	for _, x := range []struct {
		day   string
		named bool
		want  string
	}{
		{"2027-01-05", false, "gemini/gemini-3.8-flash-tts real/gpt-4o-mini-tts"},
		{"2027-01-06", false, "gemini/gemini-3.8-flash-tts"},
		{"2027-01-06", true, "real/gpt-4o-mini-tts gemini/gemini-3.8-flash-tts"},
	} {
		if got := strings.Join(at(x.day, x.named), " "); got != x.want {
			t.Errorf("%s: %s", x.day, got)
		}
	}
}

// TestLinksToPrivateHosts: the URLs in responses are those of others.
func TestLinksToPrivateHosts(t *testing.T) {
	inside := providertest.New(t)
	for _, link := range []string{inside.URL + "/secret", "http://169.254.169.254/latest", "file:///etc/passwd", "://"} {
		s := providertest.New(t)
		s.On("POST /v1/music_generation", reply{Body: object{"data": object{"audio": link}}})
		p := open(t, s, "minimax", "/v1", func(o *provider.Options) { o.Web = providertest.Client(t) })
		if files, _, err := order(t.Context(), p, song); err == nil {
			t.Errorf("%s: %v", link, files)
		}
	}
	if n := len(inside.Got()); n > 0 {
		t.Errorf("%d requests reached a private host", n)
	}
}
