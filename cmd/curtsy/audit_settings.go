package main

import (
	"github.com/spf13/pflag"

	"curtsy/storage/audit"
)

// auditMaking is what the warcinfo records say, a line each.
func auditMaking(r *audit.Result) []string {
	var all []string
	for _, in := range r.Archives {
		s := in.Software
		if s == "" {
			s = "software not named"
		}
		for _, f := range []struct{ name, value string }{
			{"operator", in.Operator}, {"user agent", in.Agent}, {"robots", in.Standard}, {"settings SHA-256", in.ConfigSHA},
		} {
			if f.value != "" {
				s += "; " + f.name + " " + f.value
			}
		}
		all = append(all, s)
	}
	return all
}

// auditDefaults are the fields that the warcinfo record of a crawl with no settings of its own has.
func auditDefaults() map[string]string {
	var s settings
	s.flags(pflag.NewFlagSet("defaults", pflag.ContinueOnError))
	usual := map[string]string{"robots": s.Standard.String(), "opt-out-sha256": "none"}
	for _, f := range s.PolitenessFields() {
		usual[f.Name] = f.Value
	}
	return usual
}

// auditSettings names the settings of archives of this crawler that are not the default.
func auditSettings(r *audit.Result) []string {
	var all []string
	usual := auditDefaults()
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
