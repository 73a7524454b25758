package egress

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"time"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// The constants of SOCKS5, from RFC 1928.
const (
	socksVersion = 5
	socksConnect = 1

	socksNoAuth   = 0
	socksNoMethod = 0xff

	socksIPv4   = 1
	socksDomain = 3
	socksIPv6   = 4

	socksSucceeded          = 0
	socksFailed             = 1
	socksForbidden          = 2
	socksHostUnreachable    = 4
	socksRefused            = 5
	socksTTLExpired         = 6
	socksUnsupportedCommand = 7
	socksUnsupportedAddress = 8
	socksReplyPadding       = "\x00\x01\x00\x00\x00\x00\x00\x00" // an empty address
)

// socks serves a client of SOCKS5.
func (p *Proxy) socks(ctx context.Context, c *clientConn) {
	began := time.Now()
	t, err := readSocks(c.in, c.Conn)
	if err != nil {
		p.report(ProxyEvent{Err: err, Started: began})
		return
	}
	upstream, err := p.connect(ctx, t, began)
	if err != nil {
		_ = socksReply(c.Conn, socksCode(err)) // the connection is closed anyway
		return
	}
	if err := socksReply(c.Conn, socksSucceeded); err != nil {
		_ = upstream.Close()
		p.report(ProxyEvent{Target: t, Err: err, Started: began})
		return
	}
	v := ProxyEvent{Target: t, Started: began}
	v.Sent, v.Received = relayConns(ctx, c, upstream)
	p.report(v)
}

func socksReply(w io.Writer, code byte) error {
	_, err := w.Write(append([]byte{socksVersion, code}, socksReplyPadding...))
	return err
}

func socksCode(err error) byte {
	switch tool.AsError(err).Kind {
	case tool.Refused, tool.Invalid:
		return socksForbidden
	case tool.NotFound:
		return socksHostUnreachable
	case tool.Timeout:
		return socksTTLExpired
	case tool.Unavailable:
		return socksRefused
	}
	return socksFailed
}

// readSocks reads a greeting and a request, and replies to invalid ones.
func readSocks(in io.Reader, out io.Writer) (Target, error) {
	if err := socksGreeting(in, out); err != nil {
		return Target{}, err
	}
	var head [4]byte // version, command, reserved, kind of address
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return Target{}, err
	}
	var code byte
	switch {
	case head[0] != socksVersion || head[2] != 0:
		code = socksFailed
	case head[1] != socksConnect:
		code = socksUnsupportedCommand
	}
	if code != 0 {
		return Target{}, errors.Join(errSocks, socksReply(out, code))
	}
	host, err := socksHost(in, head[3])
	if errors.Is(err, errSocks) {
		return Target{}, errors.Join(err, socksReply(out, socksUnsupportedAddress))
	}
	if err != nil {
		return Target{}, err
	}
	var port [2]byte
	if _, err := io.ReadFull(in, port[:]); err != nil {
		return Target{}, err
	}
	t, err := NewTarget(host, strconv.Itoa(int(port[0])<<8|int(port[1])))
	if err != nil {
		return Target{}, errors.Join(err, socksReply(out, socksForbidden))
	}
	return t, nil
}

var errSocks = tool.Errorf(tool.Invalid, "this is not a request of SOCKS5 to connect")

func socksGreeting(in io.Reader, out io.Writer) error {
	var head [2]byte // version, number of methods
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(in, methods); err != nil {
		return err
	}
	if head[0] != socksVersion {
		return errSocks
	}
	for _, m := range methods {
		if m == socksNoAuth {
			_, err := out.Write([]byte{socksVersion, socksNoAuth})
			return err
		}
	}
	_, err := out.Write([]byte{socksVersion, socksNoMethod})
	return errors.Join(errSocks, err)
}

func socksHost(in io.Reader, kind byte) (string, error) {
	size := 0
	switch kind {
	case socksIPv4:
		size = 4
	case socksIPv6:
		size = 16
	case socksDomain:
		var n [1]byte
		if _, err := io.ReadFull(in, n[:]); err != nil {
			return "", err
		}
		size = int(n[0])
	default:
		return "", errSocks
	}
	text := make([]byte, size)
	if _, err := io.ReadFull(in, text); err != nil {
		return "", err
	}
	if kind == socksDomain {
		return string(text), nil
	}
	addr, _ := netip.AddrFromSlice(text) // 4 or 16 bytes
	return addr.String(), nil
}
