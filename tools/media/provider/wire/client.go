package wire

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

const (
	// maxBytes is the size of the largest file that a provider may send, and of the largest
	// response.
	maxBytes = 200 << 20

	maxError     = 64 << 10
	attempts     = 3
	firstBackoff = time.Second
	longestWait  = time.Minute // a provider that asks for more gets no retry
	callTimeout  = 5 * time.Minute
	fetchTimeout = 10 * time.Minute
	maxRedirects = 5
)

// Options describe the API of a provider.
type Options struct {
	Name   string // as in the settings, for errors
	URL    string // such as https://api.openai.com/v1
	Key    string // "": none
	Header string // that has the key; "" is Authorization
	Prefix string // of the key, such as "Bearer "
	// API reaches the provider itself, and Web what its responses link to. Both bound what
	// they read.
	API, Web outbound.Client
	MaxBytes int64                                            // of a response; 0 is 200 MiB
	Scrub    func(text string) string                         // errors; nil leaves them as they are
	Wait     func(ctx context.Context, d time.Duration) error // between attempts; nil waits
}

// A Client sends requests to one provider. Its methods may be called concurrently.
type Client struct {
	o    Options
	base *url.URL
}

// NewClient returns a Client. It sends nothing yet.
func NewClient(o Options) (*Client, error) {
	base, err := url.Parse(strings.TrimSuffix(o.URL, "/"))
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" {
		return nil, fmt.Errorf("the URL of the media provider %q is invalid", o.Name) // it may contain a key
	}
	o.Header = cmp.Or(o.Header, "Authorization")
	o.MaxBytes = cmp.Or(o.MaxBytes, maxBytes)
	if o.Wait == nil {
		o.Wait = clock.Sleep
	}
	if o.Scrub == nil {
		o.Scrub = func(text string) string { return text }
	}
	return &Client{o, base}, nil
}

// A Call is a request to the API.
type Call struct {
	Method string // "" is POST
	Path   string // below the URL, or a URL of the provider
	Query  url.Values
	Body   any // becomes JSON; a *outbound.Form is sent as it is; nil is none
	Header map[string]string
	// Once marks a call that costs something each time that it is accepted, even if the
	// response is lost. It is repeated only if it was certainly not accepted, and if that
	// is not known the error is a [Failure] with the reason [Unknown].
	Once bool
	// Sound marks a call whose response is bare samples of sound.
	Sound bool
	// Check returns the error that a response with status 200 describes; nil checks nothing.
	Check func(body []byte) *Failure
}

// AddTo adds the file to a form.
func (f File) AddTo(form *outbound.Form, field string) {
	form.Add(field, cmp.Or(f.Name, "file"+Extension(f.MIME)), f.MIME, f.Data)
}

// Extension returns the usual extension of a type, such as .mp3, or "".
func Extension(kind string) string {
	known := map[string]string{
		"audio/mpeg": ".mp3", "audio/wav": ".wav", "audio/ogg": ".ogg", "audio/mp4": ".m4a", "audio/flac": ".flac",
		"video/mp4": ".mp4", "image/png": ".png", "image/jpeg": ".jpg", "image/webp": ".webp",
	}
	if ext, ok := known[kind]; ok {
		return ext
	}
	list, err := mime.ExtensionsByType(kind)
	if err != nil || len(list) == 0 {
		return ""
	}
	return list[0]
}

// JSON sends a call and reads the JSON of its response.
func (c *Client) JSON(ctx context.Context, call Call, into any) error {
	data, header, err := c.send(ctx, call)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		kind, _, _ := mime.ParseMediaType(header.Get("Content-Type"))
		return c.unreadable(call, fmt.Sprintf("the response is not the expected JSON but %s", c.clean(kind)), err)
	}
	return nil
}

// Send sends a call, and returns the header of its response.
func (c *Client) Send(ctx context.Context, call Call) (http.Header, error) {
	_, header, err := c.send(ctx, call)
	return header, err
}

// File sends a call whose response is a picture, sound or video.
func (c *Client) File(ctx context.Context, call Call) (File, error) {
	data, header, err := c.send(ctx, call)
	if err != nil {
		return File{}, err
	}
	return c.media(call, header.Get("Content-Type"), data)
}

// Decode returns a file that a response has in base64 or in hexadecimal digits.
func (c *Client) Decode(call Call, kind, text string, decode func(string) ([]byte, error)) (File, error) {
	data, err := decode(text)
	if err != nil {
		return File{}, c.unreadable(call, "the file in the response is not complete", err)
	}
	return c.media(call, kind, data)
}

// FromBase64 decodes base64, as part of a URL of data or alone.
func FromBase64(text string) ([]byte, error) {
	if strings.HasPrefix(text, "data:") {
		_, text, _ = strings.Cut(text, ",")
	}
	return base64.StdEncoding.DecodeString(text)
}

func (c *Client) media(call Call, kind string, data []byte) (File, error) {
	found, ok := isMedia(kind, data)
	if call.Sound && len(data) > 0 && !json.Valid(data) {
		return File{MIME: "audio/L16", Data: data}, nil
	}
	if !ok {
		return File{}, c.unreadable(call, fmt.Sprintf("it sent %s instead of a picture, sound or video",
			c.clean(found)),
			nil)
	}
	return File{MIME: found, Data: data}, nil
}

// Fetch downloads a file that a response links to. The provider itself gets its key, and no
// other host does.
func (c *Client) Fetch(ctx context.Context, link string) (File, error) {
	call := Call{Method: http.MethodGet, Path: link}
	target, err := c.base.Parse(link)
	if err != nil {
		return File{}, c.unreadable(call, "the link to the result is not a URL", err)
	}
	r := outbound.Request{
		URL: target.String(), MaxBytes: c.o.MaxBytes, Timeout: fetchTimeout, Redirects: maxRedirects,
	}
	from := c.o.Web
	if c.same(target) {
		r.Secret, from = secret{c}, c.o.API
	}
	data, header, err := c.retried(ctx, call, from, r)
	if err != nil {
		return File{}, err
	}
	return c.media(call, header.Get("Content-Type"), data)
}

// FetchAll downloads what was made.
func (c *Client) FetchAll(ctx context.Context, m Made) ([]File, error) {
	files := m.Files
	for _, link := range m.URLs {
		file, err := c.Fetch(ctx, link)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if len(files) == 0 {
		return nil, c.unreadable(Call{}, "the response has no file", nil)
	}
	return files, nil
}

// Await checks an order until it has ended, and downloads what was made.
func (c *Client) Await(ctx context.Context, every time.Duration, check func() (Made, error)) ([]File, error) {
	for {
		made, err := check()
		if err != nil {
			return nil, err
		}
		if made.Ended {
			return c.FetchAll(ctx, made)
		}
		if err := c.o.Wait(ctx, every); err != nil {
			return nil, err
		}
	}
}

// At returns the URL of a path of the provider that is not below its URL.
func (c *Client) At(path string) string {
	return c.base.ResolveReference(&url.URL{Path: path}).String()
}

// same reports whether a URL is one of the provider itself.
func (c *Client) same(u *url.URL) bool { return u.Scheme == c.base.Scheme && u.Host == c.base.Host }

// secret adds the key to requests to the provider, and to no other.
type secret struct{ c *Client }

// Attach adds the key.
func (s secret) Attach(_ context.Context, r *http.Request) (bool, error) {
	if s.c.o.Key == "" || !s.c.same(r.URL) {
		return false, nil
	}
	r.Header.Set(s.c.o.Header, s.c.o.Prefix+s.c.o.Key)
	return true, nil
}

// send sends a call, again if it failed temporarily.
func (c *Client) send(ctx context.Context, call Call) ([]byte, http.Header, error) {
	target := c.base.JoinPath(call.Path)
	if strings.Contains(call.Path, "://") {
		var err error
		if target, err = url.Parse(call.Path); err != nil || !c.same(target) {
			return nil, nil, c.unreadable(call, "it named another host for the next request", err)
		}
	}
	if call.Query != nil {
		target.RawQuery = call.Query.Encode()
	}
	r := outbound.Request{
		Method: cmp.Or(call.Method, http.MethodPost), URL: target.String(), Header: http.Header{}, Secret: secret{c},
		MaxBytes: c.o.MaxBytes, Timeout: callTimeout,
	}
	for name, value := range call.Header {
		r.Header.Set(name, value)
	}
	switch body := call.Body.(type) {
	case nil:
	case []byte:
		r.Body = body
	case *outbound.Form:
		kind, content := body.Encode()
		r.Body = content
		r.Header.Set("Content-Type", kind)
	default:
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, nil, err
		}
		r.Body = encoded
		r.Header.Set("Content-Type", "application/json")
	}
	return c.retried(ctx, call, c.o.API, r)
}

func (c *Client) retried(ctx context.Context, call Call, client outbound.Client, r outbound.Request) ([]byte,
	http.Header, error) {
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		data, header, err := c.once(ctx, client, r)
		var f *Failure
		if err == nil && call.Check != nil {
			if f = call.Check(data); f != nil {
				err = f
			}
		}
		if err == nil || !errors.As(err, &f) {
			return data, header, err
		}
		if call.Once && f.perhaps() {
			f.Reason = Unknown
		}
		if !f.retry(call.Once) || attempt == attempts || f.After > longestWait {
			return nil, nil, f
		}
		if err := c.o.Wait(ctx, max(f.After, backoff-backoff/4+rand.N(backoff/2+1))); err != nil {
			return nil, nil, err
		}
		backoff *= 2
	}
}

// once sends a request once. Errors are a *Failure, or the cause of ctx.
func (c *Client) once(ctx context.Context, client outbound.Client, r outbound.Request) ([]byte, http.Header, error) {
	answer, err := client.Do(ctx, r)
	if err != nil {
		return nil, nil, c.broken(ctx, err)
	}
	defer answer.Body.Close()
	if answer.Status < 200 || answer.Status > 299 {
		body, _ := io.ReadAll(io.LimitReader(answer.Body, maxError)) // the status is enough
		f := c.refused(answer.Status, body)
		f.After, _ = outbound.RetryAfter(answer.Header.Get("Retry-After"), time.Now())
		return nil, nil, f
	}
	if answer.Length > r.MaxBytes {
		return nil, nil, c.broken(ctx, outbound.ErrTooLong)
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, nil, c.broken(ctx, err)
	}
	return data, answer.Header, nil
}

// clean returns a text of the provider without the key and other credentials, on one line.
func (c *Client) clean(message string) string {
	if c.o.Key != "" {
		message = strings.ReplaceAll(message, c.o.Key, "...")
	}
	return clip(strings.Join(strings.Fields(c.o.Scrub(message)), " "))
}

// Pause waits between two requests.
func (c *Client) Pause(ctx context.Context, d time.Duration) error { return c.o.Wait(ctx, d) }

// OneOf reports whether a word is one of a list, in upper or lower case.
func OneOf(word string, list ...string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, word) })
}
