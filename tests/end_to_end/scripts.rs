//! Text in scripts without spaces, and in other forms of Unicode, is found again by the commands and in prompts.

use muninn_tests::TestEnv;

use crate::MUNINN;

/// A script: a comment of code, a memory, and a question about each.
const SCRIPTS: [(&str, &str, &str, [&str; 2]); 6] = [
    (
        "Japanese",
        "トークンバケットは毎秒百個のトークンを補充し、容量を超えた分は捨てられる仕組みになっている",
        "補充の間隔は本番環境では五秒から二秒に変更することを先週の会議で全員一致で決定した",
        ["トークンバケットの補充", "バケットの補充の間隔"],
    ),
    ("Chinese", "令牌桶以固定速率补充令牌", "补充间隔在生产环境改为两秒", ["令牌桶补充间隔"; 2]),
    ("Thai", "ถังโทเค็นเติมโทเค็นตามอัตราคงที่", "ช่วงเวลาเติมโทเค็นเปลี่ยนเป็นสองวินาที", ["เติมโทเค็น"; 2]),
    ("Khmer", "ធុងនេះបំពេញសញ្ញាសម្ងាត់ជាប្រចាំ", "ចន្លោះពេលបំពេញសញ្ញាសម្ងាត់គឺពីរវិនាទី", ["បំពេញសញ្ញាសម្ងាត់"; 2]),
    (
        "German",
        "Der Eimer hat eine feste FÜLLGRÖSSE",
        "Die Füllgröße steigt im Sommer",
        ["Wie steht es um die Fu\u{308}llgröße?"; 2],
    ),
    ("half-width kana", "ﾄｰｸﾝﾊﾞｹｯﾄの補充", "ﾄｰｸﾝﾊﾞｹｯﾄは二秒ごと", ["トークンバケット"; 2]),
];

#[test]
fn text_in_any_script_is_stored_and_found_again() {
    for (script, comment, memory, [of_code, of_memory]) in SCRIPTS {
        let env = TestEnv::new(MUNINN);
        env.write_config("[context]\ndeadline_ms = 20000\n[hooks]\ndaemon_idle_minutes = 0\n");
        let code = format!("/// {comment}\npub fn fill() {{}}\n");
        let root = env
            .repository("demo", &[("src/fill.rs", &code), ("src/other.rs", "/// Counts words.\npub fn count() {}\n")]);
        env.stdout_of(&root, &["init", "--memory", "local"]);
        env.stdout_of(&root, &["index"]);
        let asked = env.stdout_of(&root, &["ask", "--json", "--model", "muninn/context", of_code]);
        assert!(asked.contains("src/fill.rs"), "{script}: {asked}");
        env.stdout_of(&root, &["remember", memory]);
        let recalled = env.stdout_of(&root, &["recall", of_memory]);
        assert!(recalled.contains(memory), "{script}: {recalled}");
    }
}
