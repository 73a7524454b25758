package docker

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/mcp-tools/mcp-tools/internal/tool"
)

// A way is the address of an engine, and how to connect to it.
type way struct {
	name  string
	local bool
	pipe  string // a Windows named pipe; the client opens it itself
	dial  func(context.Context) (net.Conn, error)
}

// defaultHost returns the default address of the engine.
func defaultHost() string {
	if h := os.Getenv("DOCKER_HOST"); h != "" {
		return h
	}
	if runtime.GOOS == "windows" {
		return "npipe:////./pipe/docker_engine"
	}
	sockets := []string{"/var/run/docker.sock"}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); dir != "" {
		sockets = append(sockets, filepath.Join(dir, "docker.sock"))
	}
	if dir, err := os.UserHomeDir(); err == nil {
		sockets = append(sockets, filepath.Join(dir, ".docker", "run", "docker.sock"))
	}
	for _, s := range sockets {
		if _, err := os.Stat(s); err == nil {
			return "unix://" + s
		}
	}
	return "unix://" + sockets[0]
}

// parseHost parses the address of an engine.
func parseHost(host, certs string) (way, error) {
	scheme, rest, ok := strings.Cut(host, "://")
	if !ok || rest == "" {
		return way{}, badHost(host, "it has no scheme")
	}
	switch scheme {
	case "unix":
		if !filepath.IsAbs(rest) {
			return way{}, badHost(host, "the path of the socket is not absolute")
		}
		return way{name: host, local: true, dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", rest)
		}}, nil
	case "npipe":
		return way{name: host, local: true, pipe: host}, nil
	case "tcp":
		return parseTCP(host, certs)
	}
	return way{}, badHost(host, "its scheme is not unix, tcp or npipe")
}

func badHost(host, why string) error {
	return tool.Errorf(tool.Invalid, "the address %q of a docker engine is no use: %s", host, why).
		Try("write unix:///path or tcp://host:port; to reach a machine by ssh only, forward its socket with ssh -L")
}

func parseTCP(host, certs string) (way, error) {
	u, err := url.Parse(host)
	if err != nil || u.User != nil || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return way{}, badHost(host, "only a host and a port belong into it")
	}
	port := u.Port()
	if certs == "" {
		certs = os.Getenv("DOCKER_CERT_PATH")
	}
	if certs == "" && os.Getenv("DOCKER_TLS_VERIFY") != "" {
		dir, err := os.UserHomeDir()
		if err != nil {
			return way{}, badHost(host, "DOCKER_TLS_VERIFY is set, but there is no DOCKER_CERT_PATH")
		}
		certs = filepath.Join(dir, ".docker")
	}
	if certs == "" {
		if port == "" {
			port = "2375"
		}
		addr := net.JoinHostPort(u.Hostname(), port)
		if !loopback(u.Hostname()) {
			return way{}, tool.Errorf(tool.Invalid,
				"the connection to the docker engine at %s would be in plain text",
				addr).
				Try("set DOCKER_CERT_PATH to a directory of ca.pem, cert.pem and key.pem")
		}
		return way{name: "tcp://" + addr, dial: func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		}}, nil
	}
	if port == "" {
		port = "2376"
	}
	conf, err := tlsConfig(certs, u.Hostname())
	if err != nil {
		return way{}, err
	}
	addr := net.JoinHostPort(u.Hostname(), port)
	return way{name: "tcp://" + addr, dial: func(ctx context.Context) (net.Conn, error) {
		return (&tls.Dialer{Config: conf}).DialContext(ctx, "tcp", addr)
	}}, nil
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// tlsConfig reads ca.pem, cert.pem and key.pem. It always verifies the engine, also
// where the Docker client would not.
func tlsConfig(dir, server string) (*tls.Config, error) {
	ca, err := os.ReadFile(filepath.Join(dir, "ca.pem"))
	if err != nil {
		return nil, badCerts(dir, err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, tool.Errorf(tool.Invalid, "ca.pem in %s holds no certificate",
			dir).Try("put the engine's authority there")
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"))
	if err != nil {
		return nil, badCerts(dir, err)
	}
	return &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair}, ServerName: server,
		MinVersion: tls.VersionTLS12}, nil
}

func badCerts(dir string, err error) error {
	return tool.Errorf(tool.Invalid, "the certificates for the docker engine cannot be read from %s: %w", dir, err).
		Try("put ca.pem, cert.pem and key.pem there")
}
