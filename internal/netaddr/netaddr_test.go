package netaddr

import "testing"

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "app.localhost": true, "127.0.0.1": true, "127.9.9.9": true,
		"::1": true, "[::1]": true, "::ffff:127.0.0.1": true,
		"": false, "localhost.example.com": false, "0.0.0.0": false, "10.0.0.1": false, "notlocalhost": false,
	} {
		if got := IsLoopback(host); got != want {
			t.Errorf("IsLoopback(%q) = %v", host, got)
		}
	}
	for host, want := range map[string]bool{
		"localhost": true, "127.0.0.1": true, "[::1]": true, "0.0.0.0": true, "::": true, "[::]": true, "::ffff:0.0.0.0": true,
		"10.0.0.1": false, "example.com": false, "": false,
	} {
		if got := IsThisMachine(host); got != want {
			t.Errorf("IsThisMachine(%q) = %v", host, got)
		}
	}
	for address, want := range map[string]bool{"localhost:80": true, "[::1]:80": true, "example.com:80": false, "127.0.0.1": false} {
		if got := IsLoopbackAddress(address); got != want {
			t.Errorf("IsLoopbackAddress(%q) = %v", address, got)
		}
	}
}
