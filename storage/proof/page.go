package proof

import (
	"bytes"
	_ "embed" // for the page
	"fmt"
	"html/template"
	"time"

	"curtsy/storage/ledger/checkpoint"
	"curtsy/storage/plainly"
)

//go:embed page.html
var pageHTML string

// sheet is what the page shows.
type sheet struct {
	*Summary
	Host, Origin string
	Size, Hosts  int64
	Past         int64 // entries that the map is not of
	AsOf         time.Time
	MoreAsked    int64
	MoreLeft     int64
}

// render writes the page of a bundle. It is the same for the same lines: it says no version and no date of its making.
func render(n *checkpoint.Note, hosts *mark, host string, s *Summary) ([]byte, error) {
	t, err := template.New("proof").Funcs(template.FuncMap{
		"plain": plainly.OneLine, "lines": plainly.Lines, "count": plainly.Count[int64], "at": at,
		"pause": func(d time.Duration) string { return plainly.Seconds(d.Seconds()) }, // cut and never rounded up
		"body":  func(t Text) string { return string(t.body) },
		"cut":   func(t Text) bool { return len(t.body) == maxText },
	}).Parse(pageHTML)
	if err != nil {
		return nil, fmt.Errorf("proof: page: %w", err)
	}
	of := sheet{Summary: s, Host: host, Origin: n.Origin, Size: n.Size, Hosts: hosts.Hosts, AsOf: hosts.Time,
		Past:      n.Size - 1 - hosts.Size,
		MoreAsked: s.Exchanges - int64(len(s.Asked)), MoreLeft: max(s.Avoided-int64(len(s.Left)), 0)}
	var b bytes.Buffer
	if err := t.Execute(&b, of); err != nil {
		return nil, fmt.Errorf("proof: page: %w", err)
	}
	return b.Bytes(), nil
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
