package canon

import (
	"strings"

	"golang.org/x/net/publicsuffix"
)

// Suffix is where the part of a host name ends that registries give away (https://publicsuffix.org), and the name with
// one label more. Domain is empty where the host is the suffix itself. The zero Suffix is that of an address, and of a
// name whose last label the list has not.
type Suffix struct{ Suffix, Domain string }

// Suffixes returns the public suffix of the host by the rules of registries alone, and by all rules: those of services
// that give names to their users, such as github.io, among them.
func (a Authority) Suffixes() (registry, private Suffix) {
	host := a.Host()
	if _, ok := a.Addr(); ok || host == "" {
		return Suffix{}, Suffix{}
	}
	suffix, managed := publicsuffix.PublicSuffix(host)
	if !managed && !strings.Contains(suffix, ".") {
		return Suffix{}, Suffix{} // no rule but the one for all
	}
	private = under(host, suffix)
	for !managed {
		_, rest, ok := strings.Cut(suffix, ".")
		if !ok {
			return private, private
		}
		suffix, managed = publicsuffix.PublicSuffix(rest)
	}
	return under(host, suffix), private
}

// under is a suffix of host, with the domain below it that host is in.
func under(host, suffix string) Suffix {
	rest, ok := strings.CutSuffix(host, "."+suffix)
	if !ok {
		return Suffix{Suffix: suffix}
	}
	label := rest[strings.LastIndexByte(rest, '.')+1:]
	return Suffix{Suffix: suffix, Domain: label + "." + suffix}
}
