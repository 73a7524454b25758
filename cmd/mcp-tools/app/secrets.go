package app

import (
	"fmt"

	"github.com/mcp-tools/mcp-tools/internal/config"
	"github.com/mcp-tools/mcp-tools/scrub"
)

// setSecrets sets the values that the scrubber masks: the secrets that the settings
// refer to, and the vault's key if it is in the environment.
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
	return nil
}

// addressValues is the name of the masked addresses of this machine.
const addressValues = "server-addresses"

// maskAddresses masks the addresses of this machine. Those that are too short or too
// common to be masked, such as 192.168.1.1, are left out and logged.
func (a *App) maskAddresses(c config.Scrub, addresses []string) {
	if !c.ServerAddresses {
		addresses = nil
	}
	if a.scrub.SetMasked(addressValues, scrub.ServerIP, addresses...) == nil {
		return
	}
	for _, address := range addresses {
		if err := a.scrub.SetMasked(addressValues, scrub.ServerIP, address); err != nil {
			a.log.Warn("an address of this machine is not masked", "address", address, "err", err)
		}
	}
	_ = a.scrub.SetMasked(addressValues, scrub.ServerIP, addresses...) // the rest
}
