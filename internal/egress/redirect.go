package egress

import (
	"io"
	"net/http"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// maxDiscarded is how much of the body of an answer that redirects is read, so
// that its connection can be used again.
const maxDiscarded = 4 << 10

func redirects(status int) bool {
	switch status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

func discard(body io.ReadCloser) {
	_, _ = io.CopyN(io.Discard, body, maxDiscarded) // what is left costs the connection
	_ = body.Close()
}

// redirect makes the next request out of an answer that redirects.
func (x *exchange) redirect(res *http.Response) error {
	from := x.at
	if len(x.via) >= x.r.Redirects {
		return tool.Errorf(tool.Unavailable, "%q redirects more than %d times", from.site(), x.r.Redirects).Try("ask for the page it should lead to")
	}
	location := res.Header.Get("Location")
	if location == "" {
		return tool.Errorf(tool.Unavailable, "%q redirects, and does not say where", from.site()).Try("ask for another page")
	}
	to, err := from.next(location)
	if err != nil {
		return redirected(from, err)
	}
	if from.url.Scheme == "https" && to.url.Scheme == "http" {
		return tool.Errorf(tool.Refused, "%q redirects to %q, where anybody on the way can read along", from.site(), to.site()).Try("ask for it with https")
	}
	if err := x.keepCookies(res); err != nil {
		return err
	}
	if err := x.adapt(res.StatusCode, to); err != nil {
		return err
	}
	x.via = append(x.via, from.String())
	x.moved = x.moved || from.target != to.target
	x.from, x.at = from, to
	return nil
}

// adapt drops what is not for the next request.
func (x *exchange) adapt(status int, to link) error {
	repeats := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	reads := x.method == http.MethodGet || x.method == http.MethodHead
	x.header.Del("Referer")
	if !repeats {
		if !reads {
			x.method = http.MethodGet
		}
		x.body = nil
		bodiless(x.header)
	}
	if x.at.origin() == to.origin() {
		return nil
	}
	if repeats && (len(x.body) > 0 || !reads && x.method != http.MethodOptions) {
		return tool.Errorf(tool.Refused, "%q wants the %s sent to %q instead", x.at.site(), x.method, to.site()).
			Try("send it there yourself if that is meant")
	}
	x.body = nil
	elsewhere(x.header)
	return nil
}

// redirected says that an error is about where an answer has led.
func redirected(from link, err error) error {
	e := tool.AsError(err)
	out := tool.Errorf(e.Kind, "%q redirects, and then: %s", from.site(), e.What).Because(err)
	out.Next = e.Next
	return out
}
