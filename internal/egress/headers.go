package egress

import (
	"net/http"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

const (
	maxHeaders     = 64
	maxHeaderBytes = 16 << 10
	maxMethod      = 20
)

// readMethod reads how something is asked. "" is GET.
func readMethod(text string) (string, error) {
	method := strings.ToUpper(text)
	switch method {
	case "":
		return http.MethodGet, nil
	case http.MethodConnect, http.MethodTrace, "TRACK":
		return "", tool.Errorf(tool.Refused, "requests of %s are not sent", method).Try("use GET or POST")
	}
	if len(method) > maxMethod || !httpguts.ValidHeaderFieldName(method) {
		return "", tool.Errorf(tool.Invalid, "%q is no method", short(text)).Try("use GET, HEAD, POST, PUT, PATCH or DELETE")
	}
	return method, nil
}

// readHeader reads the headers of a caller, who may set none that is ours or
// that says who asks.
func readHeader(from http.Header) (http.Header, error) {
	out := make(http.Header, len(from)+3)
	count, size := 0, 0
	for name, values := range from {
		if !httpguts.ValidHeaderFieldName(name) {
			return nil, tool.Errorf(tool.Invalid, "%q is no name of a header", short(name)).Try("use letters, digits and dashes")
		}
		if why := reserved(name); why != "" {
			return nil, tool.Errorf(tool.Refused, "the header %s cannot be set", short(name)).Try("%s", why)
		}
		for _, value := range values {
			if !httpguts.ValidHeaderFieldValue(value) {
				return nil, tool.Errorf(tool.Invalid, "the value of the header %s holds a control character", short(name)).Try("leave it out")
			}
			count, size = count+1, size+len(name)+len(value)
			out.Add(name, strings.TrimSpace(value))
		}
	}
	if count > maxHeaders || size > maxHeaderBytes {
		return nil, tool.Errorf(tool.TooLarge, "the request has %d headers of %d bytes, and the most are %d of %d", count, size, maxHeaders, maxHeaderBytes).Try("send fewer")
	}
	return out, nil
}

// reserved says what to do instead of setting a header, or "" for one that may
// be set. Some servers take _ for -.
func reserved(name string) string {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "-")
	switch name {
	case "authorization", "cookie", "cookie2", "set-cookie", "set-cookie2", "authentication-info", "www-authenticate":
		return "use an auth profile, which the operator sets up"
	case "host", "content-length", "expect", "date", "connection", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings", "sec-websocket-key":
		return "leave it out; it follows from the request"
	case "forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "x-cluster-client-ip", "x-original-url", "x-rewrite-url", "x-original-host", "x-host":
		return "leave it out; requests are not forwarded for others"
	case "x-http-method-override", "x-http-method", "x-method-override":
		return "say the method itself"
	}
	if strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "x-forwarded") {
		return "leave it out; requests are not forwarded for others"
	}
	return ""
}

// elsewhere drops the headers that are not for another origin.
func elsewhere(h http.Header) {
	for name := range h {
		if !slices.Contains([]string{"Accept", "Accept-Language", "User-Agent"}, name) {
			delete(h, name)
		}
	}
}

// bodiless drops the headers that are about a body.
func bodiless(h http.Header) {
	for name := range h {
		if strings.HasPrefix(name, "Content-") || name == "Digest" {
			delete(h, name)
		}
	}
}
