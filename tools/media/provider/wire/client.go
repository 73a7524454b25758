package wire

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/api"
	"github.com/mcp-tools/mcp-tools/internal/clock"
	"github.com/mcp-tools/mcp-tools/internal/outbound"
)

const (
	// maxBytes is the size of the largest file that a provider may send, and of the largest
	// response.
	maxBytes = 200 << 20

	attempts     = 3
	callTimeout  = 5 * time.Minute
	fetchTimeout = 10 * time.Minute
	maxRedirects = 5
)

// A Provider is a kind of API. Package provider has the list of all.
type Provider struct {
	Kind   string                            // as in the settings
	URL    string                            // that it has by default; "": there is none that all use
	URLs   string                            // a description of its URLs for operators; needed without URL
	Attach func(r *http.Request, key string) // adds the key; nil: Authorization: Bearer KEY
	Open   func(c *Client) any               // returns the API; its methods are its abilities
}

// Options describe the API of a provider.
type Options struct {
	Name   string                            // as in the settings, for errors
	URL    string                            // such as https://api.openai.com/v1
	Key    string                            // "": none
	Attach func(r *http.Request, key string) // adds the key; nil: Authorization: Bearer KEY
	// API reaches the provider itself, and Web the links in its responses. Both bound their
	// reads.
	API, Web outbound.Client
	MaxBytes int64                                            // of a response; 0 is 200 MiB
	Scrub    func(text string) string                         // errors; nil leaves them as they are
	Wait     func(ctx context.Context, d time.Duration) error // between attempts; nil waits
}

// A Client sends requests to one provider. Its methods may be called concurrently.
type Client struct {
	o        Options
	api, web *api.Client
}

// NewClient returns a Client. It sends nothing yet.
func NewClient(o Options) (*Client, error) {
	o.MaxBytes = cmp.Or(o.MaxBytes, maxBytes)
	if o.Wait == nil {
		o.Wait = clock.Sleep
	}
	c := &Client{o: o}
	options := api.Options{
		Name: fmt.Sprintf("the media provider %q", o.Name), URL: o.URL, HTTP: o.API, Key: api.Key(o.Key), Attach: o.Attach,
		Scrub: o.Scrub, MaxBytes: o.MaxBytes, Timeout: callTimeout, Again: c.again,
		Attempts: api.Attempts{Max: attempts, Wait: o.Wait},
	}
	var err error
	if c.api, err = api.New(options); err != nil {
		return nil, err
	}
	options.HTTP, options.Key = o.Web, nil
	c.web, err = api.New(options)
	return c, err
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
	Check func(body []byte) *api.Error
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
	answer, err := c.do(ctx, call)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer.Body, into); err != nil {
		kind, _, _ := mime.ParseMediaType(answer.Header.Get("Content-Type"))
		return c.unreadable(call, fmt.Sprintf("the response is not the expected JSON but %s", c.clean(kind)), err)
	}
	return nil
}

// Send sends a call, and returns the header of its response.
func (c *Client) Send(ctx context.Context, call Call) (http.Header, error) {
	answer, err := c.do(ctx, call)
	if err != nil {
		return nil, err
	}
	return answer.Header, nil
}

func (c *Client) do(ctx context.Context, call Call) (*api.Answer, error) {
	if strings.Contains(call.Path, "://") && !c.api.Owns(call.Path) {
		return nil, c.unreadable(call, "it named another host for the next request", nil)
	}
	answer, err := c.api.Do(ctx, c.sent(call))
	return answer, c.failed(call, err)
}

func (c *Client) sent(call Call) api.Call {
	header := http.Header{}
	for name, value := range call.Header {
		header.Set(name, value)
	}
	return api.Call{Method: call.Method, Path: call.Path, Query: call.Query, Body: call.Body, Header: header,
		Safe: !call.Once, Check: call.Check}
}

// File sends a call whose response is a picture, sound or video.
func (c *Client) File(ctx context.Context, call Call) (File, error) {
	answer, err := c.do(ctx, call)
	if err != nil {
		return File{}, err
	}
	return c.media(call, answer.Header.Get("Content-Type"), answer.Body)
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
	call := Call{Method: http.MethodGet}
	target, err := c.api.Base().Parse(link)
	if err != nil {
		return File{}, c.unreadable(call, "the link to the result is not a URL", err)
	}
	from := c.web
	if c.api.Owns(target.String()) {
		from = c.api
	}
	answer, err := from.Do(ctx, api.Call{
		Method: http.MethodGet, Path: target.String(), Timeout: fetchTimeout, Redirects: maxRedirects,
	})
	if err != nil {
		return File{}, c.failed(call, err)
	}
	return c.media(call, answer.Header.Get("Content-Type"), answer.Body)
}

// FetchAll downloads the results.
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

// Await checks an order until it has ended, and downloads the results.
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
	return c.api.Base().ResolveReference(&url.URL{Path: path}).String()
}

// clean returns a text of the provider without the key and other credentials, on one line.
func (c *Client) clean(message string) string { return c.api.Clean(context.Background(), message) }

// Pause waits between two requests.
func (c *Client) Pause(ctx context.Context, d time.Duration) error { return c.o.Wait(ctx, d) }

// OneOf reports whether a word is one of a list, in upper or lower case.
func OneOf(word string, list ...string) bool {
	return slices.ContainsFunc(list, func(one string) bool { return strings.EqualFold(one, word) })
}
