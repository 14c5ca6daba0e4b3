using System;
using X = System.Collections.Generic.List<int>;
using static System.Math;
namespace A.B
{
    /// <summary>A bucket.</summary>
    [Serializable]
    public class Bucket<T> : Base<T>, INamed where T : new()
    {
        private const int Limit = 3;
        public int Tokens { get; set; }
        public Bucket(int x) : base(x) { }
        /// <summary>Refills.</summary>
        public async Task<Result> Refill(int by, Helper helper)
        {
            this.Check(by);
            helper?.Run<int>(new Other(by));
            void Local() { Inner(); }
            return await Math.Max(by, 2);
        }
        public event Action Changed;
        public static bool operator ==(Bucket<T> a, Bucket<T> b) => true;
    }
    interface INamed { string Name { get; } void Go(); }
    enum Kind { One, Two }
    record Point(int X, int Y);
    struct Pair { int a; }
    delegate void Handler(int x);
}
