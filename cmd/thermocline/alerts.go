package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/thermocline/thermocline/ingest/alert"
	"github.com/thermocline/thermocline/ingest/source"
)

// alertConfig is the block alerts of the configuration file. Secrets may be
// written ${ENV:NAME}.
type alertConfig struct {
	Lag       string          `yaml:"lag"`
	Retention string          `yaml:"retention"`
	Webhooks  []webhookConfig `yaml:"webhooks"`
	Mail      *mailConfig     `yaml:"mail"`
}

type webhookConfig struct {
	URL    string `yaml:"url"`
	Format string `yaml:"format"`
	Secret string `yaml:"secret"`
}

type mailConfig struct {
	Server   string   `yaml:"server"`
	From     string   `yaml:"from"`
	To       []string `yaml:"to"`
	Username string   `yaml:"username"`
	Password string   `yaml:"password"`
}

// secretText resolves ${ENV:NAME}.
func secretText(s string) (string, error) {
	name, ok := strings.CutPrefix(s, "${ENV:")
	if !ok || !strings.HasSuffix(name, "}") {
		return s, nil
	}
	name = strings.TrimSuffix(name, "}")
	v, ok := os.LookupEnv(name)
	if !ok {
		return "", fmt.Errorf("read the alerts: the environment variable %s is not set", name)
	}
	return v, nil
}

// watcher makes what watches pipelines; nil without the block.
func (c *alertConfig) watcher() (*alert.Watcher, error) {
	if c == nil {
		return nil, nil
	}
	var r alert.Rules
	var err error
	if c.Lag != "" {
		if r.Lag, err = source.ParseDuration(c.Lag); err != nil {
			return nil, fmt.Errorf("read alerts.lag: %w", err)
		}
	}
	if c.Retention != "" {
		if r.Retention, err = source.ParseDuration(c.Retention); err != nil {
			return nil, fmt.Errorf("read alerts.retention: %w", err)
		}
	}
	var to []alert.Notifier
	for _, h := range c.Webhooks {
		if h.URL, err = secretText(h.URL); err != nil {
			return nil, err
		}
		if h.Secret, err = secretText(h.Secret); err != nil {
			return nil, err
		}
		n, err := alert.NewWebhook(h.URL, h.Format, h.Secret)
		if err != nil {
			return nil, err
		}
		to = append(to, n)
	}
	if m := c.Mail; m != nil {
		password, err := secretText(m.Password)
		if err != nil {
			return nil, err
		}
		n, err := alert.NewMail(alert.Mail{Server: m.Server, From: m.From, To: m.To, Username: m.Username, Password: password})
		if err != nil {
			return nil, err
		}
		to = append(to, n)
	}
	return alert.NewWatcher(r, to, nil), nil
}
