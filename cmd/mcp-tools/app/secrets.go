package app

import (
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// setSecrets sets the values that the scrubber masks: the secrets that the settings
// refer to, the vault's key if it is in the environment, and the addresses of
// this machine.
func setSecrets(s *scrub.Scrubber, c config.Scrub, from config.Sources) error {
	values := make([]string, 0, len(c.Values))
	for n, secret := range c.Values {
		value, err := secret.Fetch(from)
		if err != nil {
			return fmt.Errorf("scrub.values[%d]: %w", n, err)
		}
		values = append(values, value)
	}
	for _, name := range []string{config.EnvVaultKey, config.EnvVaultKeyNext} {
		key, set := from.Env(name)
		if !set {
			continue
		}
		if err := s.Set(name, key); err != nil {
			return fmt.Errorf("the key of the vault: %w", err)
		}
	}
	if err := s.Set("settings", values...); err != nil {
		return fmt.Errorf("scrub.values: %w", err)
	}
	if !c.ServerAddresses {
		return s.Set("server-addresses")
	}
	addresses, err := serverAddresses()
	if err != nil {
		return fmt.Errorf("finding the addresses of this machine: %w", err)
	}
	return s.SetMasked("server-addresses", scrub.ServerIP, addresses...)
}
