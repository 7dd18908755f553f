package crawldir

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"curtsy/crawler"
	"curtsy/frontier/durable"
	"curtsy/storage/hostrule"
	"curtsy/storage/warc"
)

// PolitenessFields say in the archive what the crawl keeps to, so that who audits it need not ask.
func (s *Settings) PolitenessFields() warc.Fields {
	millis := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	fields := warc.Fields{
		{Name: "product-token", Value: s.Agent},
		{Name: "pace-floor-ms", Value: millis(max(s.Delay, crawler.Floor))},
		{Name: "ip-delay-ms", Value: millis(s.IPDelay)},
		{Name: "max-crawl-delay-ms", Value: millis(s.MaxCrawlDelay)},
		{Name: "own-sites", Value: strings.Join(s.OwnSite, ", ")},
		{Name: "exchanges-at-once", Value: strconv.Itoa(crawler.AtOnce(int(s.Workers)))},
		{Name: "keep-noarchive", Value: strconv.FormatBool(s.KeepNoArchive)},
	}
	if s.LinkCheck {
		fields = append(fields, warc.Field{Name: "own-site-failures", Value: "findings"})
	}
	if w, err := hostrule.ParseSpans(s.Window); err == nil {
		for _, text := range w.Texts() {
			fields = append(fields, warc.Field{Name: "window", Value: text})
		}
	}
	for _, r := range s.Hosts {
		if r.Delay > 0 {
			fields = append(fields, warc.Field{Name: "host-delay-ms", Value: millis(r.Delay) + " " + r.Name()})
		}
	}
	fields = append(fields, s.hostFields()...)
	for _, said := range s.declareProxies() {
		fields = append(fields, warc.Field{Name: "proxy", Value: said})
	}
	if set, err := s.credentials(); err == nil { // else FetchConfig has said why
		for _, said := range declareCredentials(set) {
			fields = append(fields, warc.Field{Name: "credentials", Value: said})
		}
	}
	for _, v := range s.lists.Versions() {
		fields = append(fields, warc.Field{Name: listDigest, Value: v.SHA256})
	}
	return fields
}

// hostFields say which hours and how many requests in a day the crawl keeps to, for an audit to hold it to.
func (s *Settings) hostFields() (fields warc.Fields) {
	if s.PerHostPerDay > 0 {
		fields = append(fields, warc.Field{Name: "host-per-day", Value: fmt.Sprint(s.PerHostPerDay, " ", everyHost)})
	}
	for _, r := range s.Hosts {
		if r.PerHostPerDay > 0 {
			fields = append(fields, warc.Field{Name: "host-per-day", Value: fmt.Sprint(r.PerHostPerDay, " ", r.Name())})
		}
		if len(r.Hours) > 0 {
			fields = append(fields, warc.Field{Name: "host-hours", Value: strings.ReplaceAll(strings.Join(r.Hours, ","), " ", "") + " " + r.Name()})
		}
	}
	return fields
}

// configDigest is the field of the archive that binds the settings; the ledger has the same.
const configDigest = "config-sha256"

// listDigest is the field of the archive that names a list of opt-outs.
const listDigest = "opt-out-sha256"

// ArchiveInfo is what the archive in dir says of the crawl: the settings are those in config, or in the directory.
func (s *Settings) ArchiveInfo(dir string, config []byte) (warc.Info, error) {
	if config == nil {
		var err error
		if config, err = durable.ReadFile(in(dir, ConfigName)); err != nil {
			return warc.Info{}, fmt.Errorf("read the settings of the crawl: %w", err)
		}
	}
	sum := sha256.Sum256(config)
	info := s.WARCInfo()
	info.Fields = append(info.Fields, warc.Field{Name: configDigest, Value: hex.EncodeToString(sum[:])})
	if key := VerifierKey(); key != "" {
		info.Fields = append(info.Fields, warc.Field{Name: "ledger-key", Value: key})
	}
	return info, nil
}

// VerifierKey is the key that the ledger of a run which begins now is checked with. It is made if there is none; empty where no key can be had, which
// the opening of the ledger says.
func VerifierKey() string {
	signer, _, _ := LedgerSigner(true)
	if signer == nil {
		return ""
	}
	return signer.VerifierKey()
}
