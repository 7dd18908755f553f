package export

import (
	"slices"
	"strconv"
	"strings"

	"curtsy/frontier/canon"
	"curtsy/storage/tables"
)

// hostParts are the columns of the last five parts of a host name, the last one first.
var hostParts = [...]string{
	"url_host_tld", "url_host_2nd_last_part", "url_host_3rd_last_part", "url_host_4th_last_part",
	"url_host_5th_last_part",
}

// url fills in the columns of a URL, as Common Crawl's HostName and WarcUri do.
func (r row) url(key, url string) {
	r.set("url_surtkey", tables.Text(key))
	r.set("url", tables.Text(url))
	u, err := canon.Parse(url)
	if err != nil { // no crawl of ours asks for it
		scheme, rest, _ := strings.Cut(url, ":")
		r.set("url_protocol", tables.Text(scheme))
		r.set("url_host_name", tables.Text(""))
		r.set("url_path", tables.Text(rest))
		return
	}
	a := u.Authority()
	r.set("url_host_name", tables.Text(a.Host()))
	r.set("url_protocol", tables.Text(u.Scheme()))
	if a.HostPort() != a.Host() {
		r.set("url_port", portOf(a))
	}
	r.set("url_path", tables.Text(u.Path()))
	if _, query, ok := strings.Cut(u.RequestURI(), "?"); ok {
		r.set("url_query", tables.Text(query))
	}
	if _, isAddress := a.Addr(); isAddress {
		return
	}
	parts := strings.Split(a.Host(), ".")
	slices.Reverse(parts)
	for i, name := range hostParts[:min(len(parts), len(hostParts))] {
		r.set(name, tables.Text(parts[i]))
	}
	r.set("url_host_name_reversed", tables.Text(strings.Join(parts, ".")))
	registry, private := a.Suffixes()
	r.set("url_host_registry_suffix", tables.Some(registry.Suffix))
	r.set("url_host_registered_domain", tables.Some(registry.Domain))
	r.set("url_host_private_suffix", tables.Some(private.Suffix))
	r.set("url_host_private_domain", tables.Some(private.Domain))
}

// portOf is the port of an authority.
func portOf(a canon.Authority) tables.Value {
	n, err := strconv.ParseInt(a.Port(), 10, 32)
	if err != nil {
		return tables.Null()
	}
	return tables.Int(int32(n))
}
