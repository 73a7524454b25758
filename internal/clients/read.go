package clients

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/tailscale/hujson"
)

// Servers returns the servers in a settings file of a client, or in a .mcp.json file, by name.
func Servers(path string) (map[string]Server, error) {
	if strings.EqualFold(filepath.Ext(path), ".toml") {
		return nil, fmt.Errorf("%s: only files with JSON can be imported", path)
	}
	read, err := readSettings(path)
	if err == nil && !read.exists {
		err = fmt.Errorf("there is no file %s", path)
	}
	if err != nil {
		return nil, err
	}
	plain, err := hujson.Standardize(read.data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	type listed map[string]struct {
		Command string            `json:"command"`
		Args    []string          `json:"args"`
		Env     map[string]string `json:"env"`
		URL     string            `json:"url"`
		HTTPURL string            `json:"httpUrl"`
		Remote  string            `json:"serverUrl"`
		Headers map[string]string `json:"headers"`
		Off     bool              `json:"disabled"`
	}
	var file struct {
		MCPServers     listed `json:"mcpServers"`
		Servers        listed `json:"servers"`
		ContextServers listed `json:"context_servers"`
		MCP            struct {
			Servers listed `json:"servers"`
		} `json:"mcp"`
	}
	if err := json.Unmarshal(plain, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	servers := make(map[string]Server)
	for _, list := range []listed{file.MCPServers, file.Servers, file.ContextServers, file.MCP.Servers} {
		for name, one := range list {
			if one.Off {
				continue
			}
			s := Server{Name: name, Command: one.Command, Args: one.Args, Env: one.Env, Headers: one.Headers}
			for _, url := range []string{one.URL, one.HTTPURL, one.Remote} {
				if url != "" {
					s.URL = url
				}
			}
			servers[name] = s
		}
	}
	return servers, nil
}
