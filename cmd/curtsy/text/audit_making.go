package text

import (
	"curtsy/crawler/crawldir"
	"curtsy/storage/audit"
)

// making is what the warcinfo records say, a line each.
func making(r *audit.Result) []string {
	var all []string
	for _, in := range r.Archives {
		s := in.Software
		if s == "" {
			s = "software not named"
		}
		for _, f := range []struct{ name, value string }{
			{"operator", in.Operator}, {"user agent", in.Agent}, {"robots", in.Standard}, {"settings SHA-256", in.ConfigSHA},
			{"ledger key", field(in.Fields, "ledger-key")},
		} {
			if f.value != "" {
				s += "; " + f.name + " " + f.value
			}
		}
		all = append(all, s)
	}
	return all
}

// field is the value of a field; empty if there is none.
func field(fields [][2]string, name string) string {
	for _, f := range fields {
		if f[0] == name {
			return f[1]
		}
	}
	return ""
}

// defaults are the fields that the warcinfo record of a crawl with no settings of its own has.
func defaults() map[string]string {
	s := crawldir.Defaults()
	usual := map[string]string{"robots": s.Standard.String(), "opt-out-sha256": "none"}
	for _, f := range s.PolitenessFields() {
		usual[f.Name] = f.Value
	}
	return usual
}

// settings names the settings of archives of this crawler that are not the default.
func settings(r *audit.Result) []string {
	var all []string
	usual := defaults()
	seen := map[string]bool{}
	for _, in := range r.Archives {
		if !in.Ours {
			continue
		}
		for _, f := range in.Fields {
			normal, known := usual[f[0]]
			line := f[0] + ": " + f[1]
			if known && f[1] != normal && !seen[line] {
				seen[line] = true
				all = append(all, line+" (default "+normal+")")
			}
		}
	}
	return all
}
