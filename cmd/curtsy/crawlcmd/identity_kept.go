package crawlcmd

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/pelletier/go-toml/v2"

	"curtsy/cmd/curtsy/cli"
	"curtsy/crawler/crawldir"
	"curtsy/crawler/crawldir/userfile"
	"curtsy/crawler/fetch/webbotauth"
	"curtsy/crawler/policypage"
	"curtsy/frontier/durable"
)

// kept is what init keeps of the answers that are no settings of a crawl, beside the configuration file.
type kept struct {
	URL       string   `toml:"url"`     // where the page is published
	Contact   string   `toml:"contact"` // as the page has it
	Retention string   `toml:"retention"`
	Ranges    []string `toml:"ranges"`

	there bool // somebody answered once
}

const (
	keptName = "identity.toml"
	keptHead = "# Written by curtsy identity init; curtsy identity check compares it with the published page.\n"
	maxKept  = 1 << 20
)

func keptPath() (string, error) {
	config, err := crawldir.UserConfig()
	return filepath.Join(filepath.Dir(config), keptName), err
}

// readKept reads what was kept; nothing is the zero value.
func readKept() (k kept, err error) {
	path, err := keptPath()
	if err != nil {
		return k, err
	}
	b, err := userfile.ReadAll(path, maxKept)
	if errors.Is(err, fs.ErrNotExist) {
		return k, nil
	}
	if err != nil {
		return k, err
	}
	d := toml.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&k); err != nil {
		return kept{}, cli.Usagef("%s cannot be read: %s; fix it, or delete it and answer again", path, tomlTrouble(err))
	}
	if k.there = true; k.URL != "" && policypage.PageURL(k.URL) != nil {
		return kept{}, cli.Usagef("%s: url %q: %w", path, k.URL, policypage.PageURL(k.URL))
	}
	if _, err := k.prefixes(); err != nil {
		return kept{}, cli.Usagef("%s: %w", path, err)
	}
	return k, nil
}

// tomlTrouble says where a file is no TOML, or no such file, in one line.
func tomlTrouble(err error) string {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		row, _ := strict.Errors[0].Position()
		return fmt.Sprintf("line %d has an unknown key", row)
	}
	var syntax *toml.DecodeError
	if errors.As(err, &syntax) {
		row, column := syntax.Position()
		return fmt.Sprintf("line %d, column %d", row, column)
	}
	return err.Error()
}

func (k *kept) prefixes() ([]netip.Prefix, error) {
	var ps []netip.Prefix
	for _, text := range k.Ranges {
		p, err := policypage.ParseRange(text)
		if err != nil {
			return nil, fmt.Errorf("ranges: %w", err)
		}
		ps = append(ps, p)
	}
	if len(ps) > policypage.MaxRanges {
		return nil, fmt.Errorf("ranges: %d are more than %d", len(ps), policypage.MaxRanges)
	}
	return policypage.SortRanges(ps), nil
}

// Kept is what the user said of all crawls that is no setting: how long data are kept, and where the page about the crawler
// is published. What was never said is empty.
func Kept() (retention, page string, err error) {
	k, err := readKept()
	return k.Retention, k.URL, err
}

// keep writes k.
func (k *kept) keep() error {
	path, err := keptPath()
	if err != nil {
		return err
	}
	b, err := toml.Marshal(k)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	if linked, err := filepath.EvalSymlinks(path); err == nil {
		path = linked
	}
	return durable.WriteFile(path, append([]byte(keptHead), b...), 0o600)
}

// statement is what the settings say, without the time. The key of ledgers is made for the page if make says so; a check
// makes none.
func (k *kept) statement(s *crawldir.Settings, makeKey bool) (policypage.Statement, error) {
	ranges, err := k.prefixes()
	if err != nil {
		return policypage.Statement{}, err
	}
	p := policypage.Statement{
		Token: s.Agent, UserAgent: s.Identity().UserAgent(), Operator: s.Operator, Purpose: s.Purpose,
		Contact: k.Contact, Retention: k.Retention, Ranges: ranges, URL: k.URL,
	}
	if s.SignatureAgent != "" {
		agent, err := webbotauth.ParseAgent(s.SignatureAgent)
		if err != nil {
			return p, cli.Usagef("signature-agent: %w", err)
		}
		p.Directory = agent.URL()
	}
	signer, led, err := crawldir.LedgerSigner(makeKey)
	if signer == nil {
		return p, err
	}
	p.Key = signer.VerifierKey()
	for _, r := range led {
		p.Earlier = append(p.Earlier, policypage.EarlierKey{Key: r.Old.String(), Until: r.At})
	}
	return p, err
}
