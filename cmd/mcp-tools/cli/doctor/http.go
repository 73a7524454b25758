package doctor

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-tools/mcp-tools/cmd/mcp-tools/app"
	"github.com/mcp-tools/mcp-tools/internal/terminal"

	"github.com/mcp-tools/mcp-tools/internal/clients"
	"github.com/mcp-tools/mcp-tools/internal/netaddr"
)

// soon is the remaining time of a certificate for a warning.
const soon = 14 * 24 * time.Hour

// checkHTTP checks the addresses of the settings.
func (c *checkup) checkHTTP() {
	s := c.settings.Config.Server
	if s.HTTP == "" {
		c.ok("http", "not in these settings: clients start the server; use --http ADDR to serve many")
	} else {
		c.checkAddress("http", s.HTTP, "--http")
		if s.TLSCert == "" && !netaddr.IsLoopbackAddress(s.HTTP) {
			c.warn("http", "set --tls-cert and --tls-key, or use a proxy with TLS and listen on 127.0.0.1",
				"%s can be reached from other machines without TLS, so tokens are sent in plain text", s.HTTP)
		}
	}
	if s.Metrics != "" {
		c.checkAddress("metrics", s.Metrics, "--metrics")
	}
}

func (c *checkup) checkAddress(check, address, flag string) {
	listener, err := net.Listen("tcp", address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		c.warn(check, "if it is not your server, choose another with "+flag,
			"%s is in use by a running server or another program", address)
		return
	case err != nil:
		c.fail(check, "choose another address with "+flag, "%v", err)
		return
	}
	if err := listener.Close(); err != nil {
		c.fail(check, "choose another address with "+flag, "%v", err)
		return
	}
	c.ok(check, "%s is free", address)
}

func (c *checkup) checkTLS() {
	const check = "tls"
	s := c.settings.Config.Server
	if s.TLSCert == "" {
		return
	}
	pair, err := tls.LoadX509KeyPair(s.TLSCert, s.TLSKey)
	if err != nil {
		c.fail(check, "correct --tls-cert and --tls-key", "%v", err)
		return
	}
	if info, err := os.Stat(s.TLSKey); err == nil && app.UnixModes() && info.Mode().Perm()&0o077 != 0 {
		c.warn(check, "run chmod 600 on it", "other users can read the key %s", s.TLSKey)
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		c.fail(check, "correct --tls-cert", "%v", err)
		return
	}
	c.checkValidity(check, leaf, time.Now())
}

func (c *checkup) checkValidity(check string, leaf *x509.Certificate, now time.Time) {
	switch left := leaf.NotAfter.Sub(now); {
	case now.Before(leaf.NotBefore):
		c.fail(check, "wait, or set the clock", "the certificate is not valid before %s", terminal.Date(leaf.NotBefore))
	case left < 0:
		c.fail(check, "renew it", "the certificate expired on %s", terminal.Date(leaf.NotAfter))
	case left < soon:
		c.warn(check, "renew it", "the certificate expires on %s", terminal.Date(leaf.NotAfter))
	default:
		c.ok(check, "the certificate is valid until %s", terminal.Date(leaf.NotAfter))
	}
}

// checkClients lists the clients with an entry for this server.
func (c *checkup) checkClients() {
	const check = "clients"
	env, err := clients.HostEnv()
	if err != nil {
		c.warn(check, "", "%v", err)
		return
	}
	var connected []string
	look := func(client clients.Client, title string) {
		status, err := client.Status(env, clients.EntryName)
		switch {
		case err != nil:
			c.warn(check, "correct the file; until then connect cannot edit it", "%v", err)
		case status.Connected:
			connected = append(connected, title)
		}
	}
	for _, client := range clients.All() {
		look(client, client.Title)
		if project, err := client.Project(); err == nil {
			look(project, client.Title+" (this project)")
		}
	}
	if len(connected) == 0 {
		c.ok(check, "none is connected; use mcp-tools connect CLIENT")
		return
	}
	c.ok(check, "connected: %s", strings.Join(connected, ", "))
}
