package api_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/egress/egresstest"
)

const key = "the-key+of/the service"

// service starts a server and returns a client for it that waits for nothing, and how long it would have waited.
func service(t *testing.T, serve http.HandlerFunc, change ...func(*api.Options)) (*api.Client, *[]time.Duration) {
	t.Helper()
	server := httptest.NewServer(serve)
	t.Cleanup(server.Close)
	var waits []time.Duration
	o := api.Options{
		Name: "svc", URL: server.URL + "/v1/", HTTP: egresstest.Local(t, server.URL), Key: api.Key(strings.Fields(key)[0]),
		Attempts: api.Attempts{Max: 3, Wait: func(ctx context.Context, d time.Duration) error {
			waits = append(waits, d)
			return ctx.Err()
		}},
	}
	for _, f := range change {
		f(&o)
	}
	c, err := api.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c, &waits
}

// post sends a request as a library would, with a key of its own.
func post(ctx context.Context, c *api.Client, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader("ping"))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer of the library")
	r.Header.Set("X-Extra", "1")
	return c.HTTP().Do(r)
}

// TestLibrary: a library's request arrives with the real key, and its compressed response is read.
func TestLibrary(t *testing.T) {
	c, _ := service(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("Authorization") != "Bearer the-key+of/the" || r.Header.Get("X-Extra") != "1" || string(body) != "ping" {
			t.Errorf("%v %q", r.Header, body)
		}
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		fmt.Fprint(z, "pong")
		_ = z.Close()
	})
	res, err := post(t.Context(), c, c.Base().String()+"/x")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || string(body) != "pong" {
		t.Errorf("%q, %v", body, err)
	}
}

// TestKeyStaysAtItsService: neither other hosts nor redirects get a credential.
func TestKeyStaysAtItsService(t *testing.T) {
	var mu sync.Mutex
	var got []string
	foreign := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, r.Header.Get("Authorization")+r.Header.Get("Cookie"))
	}))
	defer foreign.Close()
	c, _ := service(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, foreign.URL, http.StatusFound)
	}, func(o *api.Options) { o.HTTP = egresstest.Local(t, o.URL, foreign.URL) })
	for _, url := range []string{foreign.URL, c.Base().String()} {
		res, err := post(t.Context(), c, url)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		_ = res.Body.Close()
	}
	if _, err := c.Do(t.Context(), api.Call{Method: "GET", Redirects: 1}); err == nil {
		t.Error("a redirect to a private host was followed")
	}
	foreign.Close() // its handlers have ended
	if len(got) != 1 {
		t.Errorf("the other host got %d requests", len(got))
	}
	if strings.Join(got, "") != "" {
		t.Errorf("another host got %q", got)
	}
	var e *api.Error
	if _, err := c.Do(t.Context(), api.Call{}); !errors.As(err, &e) || e.Status != 302 || !strings.Contains(e.Error(), "redirects") {
		t.Error(err)
	}
}

func TestOwns(t *testing.T) {
	c, err := api.New(api.Options{Name: "s", URL: "https://api.example.com/v1", Domains: []string{"example.net"}})
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]bool{
		"https://api.example.com/other": true, "wss://api.example.com/": true, "http://api.example.com/": false,
		"https://api.example.com:8443/": false, "https://user@api.example.com/": false, "https://example.com/": false,
		"https://example.net/": true, "https://files.EXAMPLE.net/x": true, "https://files.example.net:444/": false,
		"http://example.net/": false, "https://notexample.net/": false, "https://example.net.evil.org/": false, "::": false,
	} {
		if got := c.Owns(url); got != want {
			t.Errorf("%s: %v", url, got)
		}
	}
}

// TestAttempts has a service fail twice, for libraries and for calls.
func TestAttempts(t *testing.T) {
	for name, x := range map[string]struct {
		fail  http.HandlerFunc
		safe  bool
		times int
	}{
		"busy":               {status(429, "Retry-After", "7"), false, 3},
		"busy for long":      {status(429, "Retry-After", "61"), false, 1},
		"down":               {status(503), false, 3},
		"failed":             {status(500), false, 1},
		"failed and safe":    {status(500), true, 3},
		"never":              {status(501), true, 1},
		"invalid":            {status(400), true, 1},
		"broken":             {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false, 1},
		"broken and safe":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true, 3},
		"half of a response": {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "9") }, true, 3},
	} {
		for _, library := range []bool{false, true} {
			if library && name == "half of a response" {
				continue // the library reads it
			}
			var times atomic.Int32
			c, waits := service(t, func(w http.ResponseWriter, r *http.Request) {
				if times.Add(1) < 3 {
					x.fail(w, r)
				} else {
					fmt.Fprint(w, "{}")
				}
			}, func(o *api.Options) { o.Safe = x.safe })
			var err error
			if library {
				var res *http.Response
				if res, err = post(t.Context(), c, c.Base().String()); err == nil {
					_ = res.Body.Close()
					if res.StatusCode != 200 {
						err = errors.New(res.Status)
					}
				}
			} else {
				err = c.JSON(t.Context(), api.Call{Safe: x.safe, Body: map[string]int{}}, new(any))
			}
			if n := int(times.Load()); n != x.times || (err == nil) != (x.times == 3) || len(*waits) != x.times-1 {
				t.Errorf("%s, library %v: %d times, waited %v, %v", name, library, n, *waits, err)
			}
			if name == "busy" && (*waits)[0] != 7*time.Second {
				t.Errorf("waited %v", *waits)
			}
		}
	}
}

func status(code int, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"message":"no: the-key%%2Bof%%2Fthe or\n the-key+of/the","code":"c%d"}}`, code)
	}
}

// TestErrors: errors have the words of the service, and no credential.
func TestErrors(t *testing.T) {
	c, _ := service(t, status(400))
	err := c.JSON(t.Context(), api.Call{}, new(any))
	var e *api.Error
	if !errors.As(err, &e) || e.Error() != "svc: status 400: no: ... or ..." || !e.Has("c400") || !e.Unaccepted {
		t.Errorf("%v", err)
	}
	c, _ = service(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if err := c.JSON(t.Context(), api.Call{}, new(any)); !errors.As(err, &e) || !e.Unusable {
		t.Errorf("%v", err)
	}
	c, _ = service(t, nil, func(o *api.Options) { o.Key = func(context.Context) (string, error) { return "a\nb", nil } })
	if err := c.JSON(t.Context(), api.Call{}, new(any)); !errors.As(err, &e) || !e.NoKey || !e.Unaccepted {
		t.Errorf("%v", err)
	}
	c, _ = service(t, nil, func(o *api.Options) { o.URL = "http://127.0.0.1:1" })
	if err := c.JSON(t.Context(), api.Call{Safe: true}, new(any)); !errors.As(err, &e) || !e.Unreached || e.Temporary {
		t.Errorf("%v", err)
	}
	for _, u := range []string{"", "nothing", "https://user:secret@host/v1", "https://host/v1?key=secret", "://", "/v1"} {
		if _, err := api.New(api.Options{Name: "p", URL: u}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

// TestKeyInThePath: a library knows a URL without the key, which is what its errors show.
func TestKeyInThePath(t *testing.T) {
	c, _ := service(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/bot123:abc/get" {
			t.Error(r.URL.Path)
		}
		panic(http.ErrAbortHandler)
	}, func(o *api.Options) {
		o.Key = api.Key("123:abc")
		o.Attach = func(r *http.Request, key string) {
			r.URL.Path = strings.Replace(r.URL.Path, "/botX/", "/bot"+key+"/", 1)
		}
	})
	_, err := post(t.Context(), c, c.Base().String()+"/botX/get")
	failed := c.Failure(t.Context(), err)
	if err == nil || strings.Contains(err.Error()+failed.Error()+fmt.Sprint(errors.Unwrap(failed)), "abc") {
		t.Errorf("%v, %v", err, failed)
	}
}

func TestLargeResponses(t *testing.T) {
	c, waits := service(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/declared" {
			w.Header().Set("Content-Length", fmt.Sprint(300<<20))
		}
		_, _ = w.Write(bytes.Repeat([]byte("x"), 2<<20))
	}, func(o *api.Options) { o.MaxBytes = 1 << 20 })
	for _, path := range []string{"declared", "stream"} {
		_, err := c.Do(t.Context(), api.Call{Path: path, Safe: true})
		var e *api.Error
		if !errors.As(err, &e) || !e.TooLarge || len(*waits) > 0 {
			t.Errorf("%s: %v after %v", path, err, *waits)
		}
	}
}

// TestCancelled: the error of a request whose context ends is its cause.
func TestCancelled(t *testing.T) {
	cause := errors.New("it is not needed")
	for _, library := range []bool{false, true} {
		ctx, cancel := context.WithCancelCause(t.Context())
		c, _ := service(t, func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the client has left
			cancel(cause)
			<-r.Context().Done()
		})
		var err error
		if library {
			_, err = post(ctx, c, c.Base().String())
		} else {
			err = c.JSON(ctx, api.Call{Safe: true}, new(any))
		}
		if !errors.Is(err, cause) {
			t.Errorf("library %v: %v", library, err)
		}
	}
}

func FuzzDescribe(f *testing.F) {
	for _, body := range []string{
		`{"error":{"message":"m","type":"t","code":"c"}}`, `[{"error":{"code":400,"message":"gemini"}}]`,
		`{"object":"error","message":"vllm"}`, `{"error":"ollama"}`, `{"detail":[{"msg":"fal","type":"missing"}]}`,
		`{"detail":{"status":"quota_exceeded","message":"elevenlabs"}}`, `{"code":"Arrearage","message":"dashscope"}`,
		`{"base_resp":{"status_code":1008,"status_msg":"minimax"}}`, `<html>`, `{"error":null}`, `{"error":{"code":1e999}}`,
	} {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var object map[string]any
		if json.Unmarshal(body, &object) != nil {
			return
		}
		status, code, message := api.Describe(body)
		if s, c, m := api.Describe([]byte("[" + string(body) + "]")); s != status || c != code || m != message {
			t.Errorf("%d %q %q, and in a list %d %q %q", status, code, message, s, c, m)
		}
	})
}

func TestDescribe(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"m","type":"t","code":"c"}}`:                "0 t c: m",
		`[{"error":{"code":400,"message":"gemini","status":"INVALID"}}]`: "400 INVALID: gemini",
		`{"object":"error","message":"vllm"}`:                            "0 : vllm",
		`{"error":"ollama"}`:                                             "0 : ollama",
		`{"detail":[{"msg":"fal","type":"missing"}]}`:                    "0 missing: fal",
		`{"detail":{"status":"quota_exceeded","message":"elevenlabs"}}`:  "0 quota_exceeded: elevenlabs",
		`{"code":"Arrearage","message":"dashscope"}`:                     "0 Arrearage: dashscope",
		`{"base_resp":{"status_code":1008,"status_msg":"minimax"}}`:      "0 1008: minimax",
		`<html>`: "0 : ", `{"error":null}`: "0 : ", `null`: "0 : ",
	} {
		status, code, message := api.Describe([]byte(body))
		if got := fmt.Sprintf("%d %s: %s", status, code, message); got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
	}
}

// TestDescribeIsFlat: an error is not in a list in a list. Thousands of them would take minutes in a response of 16 MB.
func TestDescribeIsFlat(t *testing.T) {
	for body, want := range map[string]string{
		`{"detail":[{"msg":"too long"}]}`:   "too long",
		`{"detail":[[{"msg":"too long"}]]}`: "",
	} {
		if _, _, message := api.Describe([]byte(body)); message != want {
			t.Errorf("%s: got %q", body, message)
		}
	}
}

// TestAnsweredWhileCancelled: a response is known also if the context ends as it arrives, or in the pause after it. A
// sender would otherwise think that the service may have done what it has refused.
func TestAnsweredWhileCancelled(t *testing.T) {
	for _, code := range []int{403, 429} {
		for _, when := range []string{"as it arrives", "in the pause"} {
			ctx, cancel := context.WithCancel(t.Context())
			c, _ := service(t, status(code), func(o *api.Options) {
				o.Attempts.Wait = func(context.Context, time.Duration) error { cancel(); return context.Canceled }
				if when == "as it arrives" {
					o.Again = func(api.Call, *api.Error) bool { cancel(); return true }
				}
			})
			err := c.Failure(ctx, c.JSON(ctx, api.Call{Body: 1}, new(any)))
			if e := (*api.Error)(nil); !errors.As(err, &e) || e.Status != code {
				t.Errorf("%d %s: %v", code, when, err)
			}
			cancel()
		}
	}
}
