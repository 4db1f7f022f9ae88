package drills

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pnyx/test/env"
)

func processDrills() []drill {
	front := deploymentOptions{apis: 2, front: true}
	return []drill{
		{
			name: "API node ends", fault: "SIGTERM of the only API node, with nothing in front of it; started again when it has ended",
			endsConnections: true,
			breaks: func(s *deployment) func() {
				s.apis[0].Stop()
				s.apis[0].Start()
				return nil
			},
			after: func(s *deployment) string {
				sum := s.load.tally()
				if cut := sum.broken - sum.notConnected; cut > 0 {
					s.tb.Errorf("%d requests were cut off", cut)
				}
				return "unanswered are those who came while there was no process: none was cut off"
			},
		},
		{
			name: "API node killed behind nginx", deployment: front, fault: "SIGKILL of one of two; started again after 5 s",
			lasts:  5 * time.Second,
			breaks: func(s *deployment) func() { s.apis[0].Kill(); return s.apis[0].Start },
		},
		{
			name: "Rolling restart behind nginx", deployment: front, mustNotFail: true,
			fault: "for 60 s, SIGTERM of one of two API nodes after the other, each started again and waited for",
			breaks: func(s *deployment) func() {
				restarts := 0
				for began := time.Now(); time.Since(began) < time.Minute; restarts++ {
					n := s.apis[restarts%len(s.apis)]
					n.Stop()
					n.Start()
					n.ready()
				}
				s.remark = fmt.Sprint(restarts, " restarts")
				return nil
			},
			after: func(s *deployment) string { return s.remark },
		},
	}
}

// nginxConf is a load balancer, which asks the other node when one refuses or breaks a connection.
const nginxConf = `
daemon off;
worker_processes 1;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
    access_log off;
    client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
    uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
    large_client_header_buffers 8 32k;
    upstream api {
%[2]s        keepalive 32;
    }
    server {
        listen %[3]s;
        location / {
            proxy_pass http://api;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_connect_timeout 2s;
        }
    }
}
`

func (s *deployment) startFront() {
	s.tb.Helper()
	dir := filepath.Join(s.dir, "nginx")
	env.MustDo(s.tb, os.MkdirAll(dir, 0o755))
	var upstreams strings.Builder
	for _, n := range s.apis {
		fmt.Fprintf(&upstreams, "        server %s max_fails=0;\n", strings.TrimPrefix(n.base, "http://"))
	}
	listen := env.FreeAddress(s.tb)
	conf := filepath.Join(dir, "nginx.conf")
	env.MustDo(s.tb, os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, upstreams.String(), listen), 0o600))
	nginx := env.NewProcess(s.tb, env.Program(s.tb, "nginx", "PNYX_TEST_REQUIRE_NGINX"), nil, "-p", dir, "-c", conf, "-e", "stderr")
	nginx.Start()
	s.front = "http://" + listen
	env.Within(s.tb, 10*time.Second, func() error {
		env.MustDo(s.tb, nginx.Err())
		return accepts(listen)
	})
}
