package crawldir

import (
	"os"
	"path/filepath"
	"strings"

	"curtsy/crawler/fetch"
)

// Identity is who the settings say crawls.
func (s *Settings) Identity() fetch.Identity {
	return fetch.Identity{Token: s.Agent, Version: Version, Contact: mailbox(s.Contact), Operator: s.Operator, Purpose: s.Purpose}
}

// mailbox is a contact without the scheme that people write before an address.
func mailbox(contact string) string { return strings.TrimPrefix(contact, "mailto:") }

// UserConfig is the path of the user's own configuration file.
func UserConfig() (string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return "", misuse("no configuration folder: %w; set HOME or XDG_CONFIG_HOME", err)
	}
	return filepath.Join(dir, "curtsy", "config.toml"), nil
}
