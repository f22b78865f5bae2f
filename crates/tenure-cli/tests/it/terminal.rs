//! On a terminal: ^Z gives it back to the shell, `fg` goes on, and who runs in the background leaves it alone.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;

use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::harness::{Store, TENURE, children, signal, tests_on, wait_for};

tests_on!(sqlite:
    a_command_that_is_stopped_gives_the_terminal_back_and_goes_on_when_told,
    a_command_in_the_background_leaves_the_terminal_alone,
);

/// An interactive shell on a terminal of its own.
struct Shell {
    child: Child,
    keys: ChildStdin,
    screen: Arc<Mutex<String>>,
    /// How much of the screen was looked at.
    seen: usize,
}

impl Shell {
    fn start() -> Option<Self> {
        let mut command = Command::new("script");
        command.args(["-qfec", "bash --norc --noprofile -i", "/dev/null"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let Ok(mut child) = command.spawn() else {
            eprintln!("`script` IS NOT THERE: the test of the terminal passes without having been run");
            return None;
        };
        let (keys, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let screen = Arc::new(Mutex::new(String::new()));
        let shown = screen.clone();
        thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut buffer) {
                shown.lock().unwrap().push_str(&String::from_utf8_lossy(&buffer[..count]));
            }
        });
        Some(Self { child, keys, screen, seen: 0 })
    }

    fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for a text behind what was waited for before; what is typed is shown as well, so it must differ.
    fn until(&mut self, text: &str) {
        let look = || self.screen.lock().unwrap()[self.seen..].find(text);
        self.seen += wait_for(&format!("{text} on the screen"), look) + text.len();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("{}", self.screen.lock().unwrap());
        }
        // Also what the shell started, in whatever state it is.
        let mut left = vec![Pid::from_raw(i32::try_from(self.child.id()).unwrap())];
        while let Some(pid) = left.pop() {
            left.extend(children(pid));
            signal(pid, Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}

fn a_command_that_is_stopped_gives_the_terminal_back_and_goes_on_when_told(store: &Store) {
    let Some(mut shell) = Shell::start() else { return };
    let options = "--ttl 60s --presence-trust 30s --name job";
    let script = "echo rea\"\"dy; read line; echo got-$line; read line; exit 7";
    shell.press(&format!("'{TENURE}' run --lease '{}' {options} -- sh -c '{script}'\n", store.url()));
    shell.until("ready");
    shell.press("\u{1a}");
    // The shell has the terminal again, and knows its job as stopped.
    shell.until("Stopped");
    shell.press("echo shell-$((1 + 1))\n");
    shell.until("shell-2");
    shell.press("fg\n");
    shell.until("exit 7");
    shell.press("word\n");
    shell.until("got-word");
    // A second time: every stop is seen once.
    shell.press("\u{1a}");
    shell.until("Stopped");
    shell.press("echo shell-$((1 + 2))\n");
    shell.until("shell-3");
    shell.press("fg\n");
    shell.until("exit 7");
    shell.press("last\n");
    // The shell reads on when the command has left.
    shell.until("bash-");
    shell.press("echo code-$?-\n");
    shell.until("code-7-");
    shell.press("exit\n");
}

fn a_command_in_the_background_leaves_the_terminal_alone(store: &Store) {
    let Some(mut shell) = Shell::start() else { return };
    let script = "echo rea\"\"dy; sleep 1000";
    shell.press(&format!("'{TENURE}' run --lease '{}' --name job -- sh -c '{script}' &\n", store.url()));
    shell.until("ready");
    shell.press("echo shell-$((1 + 1))\n");
    shell.until("shell-2");
    shell.press("kill %1; wait %1; echo code-$?-\n");
    shell.until("code-143-");
    shell.press("exit\n");
}
