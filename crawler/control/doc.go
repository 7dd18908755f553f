// Package control connects a running crawl (Serve) with other processes (Remote). A crawl has its frontier to itself
// while it runs; this is how others on the machine ask about it and steer it.
//
// Serve listens on a loopback port and writes into the crawl directory, as control.json, where that is and a secret.
// Whoever can read the file may ask; each side proves to know the secret (Secure), so that neither somebody who
// took the port over after a kill nor another user of the machine is believed. Questions, commands and their answers are
// JSON over HTTP and TLS. A snapshot is a file in the directory.
//
// The package decides nothing about the crawl: that is behind the interface Crawl.
package control
